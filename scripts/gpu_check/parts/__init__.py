"""What is checked and measured, each in a process of its own."""
