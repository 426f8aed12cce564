"""Programs that answered a question of ours; README.md says which."""
