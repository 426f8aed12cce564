"""What a simulation is fed and judged with: times of batches and of the frontend's work, on a machine that is there."""
