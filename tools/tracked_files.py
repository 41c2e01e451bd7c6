"""The files that belong to the project: what git tracks or would track; everything but build outputs without git."""
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUTPUTS = {"build", ".git", ".cache", ".venv", ".venv-oracles", "__pycache__"}


def tracked_files(root=ROOT):
    root = Path(root)
    listed = None
    if (root / ".git").exists():
        git = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True, check=False)
        if git.returncode == 0:
            listed = [root / name for name in git.stdout.decode("utf-8").split("\0") if name]
    if listed is None:
        listed = [p for p in root.rglob("*") if not OUTPUTS.intersection(p.relative_to(root).parts)]
    return sorted(p for p in listed if p.is_file())
