"""What is known of the models' answers, asked of a running product."""
