"""Small PyTorch files, good and hostile, made byte by byte."""
