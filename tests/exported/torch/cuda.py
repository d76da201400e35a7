"""torch.cuda: nothing, until gpu.py puts its streams and captures here."""
