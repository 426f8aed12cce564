"""Transcripts as SRT and WebVTT."""
