"""Speech to English text."""
