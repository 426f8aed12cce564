"""The middlewares, which every request passes in the order that ``app`` lists."""
