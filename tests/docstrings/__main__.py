"""Write the shared descriptions into the docstrings: ``make docstrings``."""

from docstrings.writing import completed_files

if __name__ == "__main__":
    for path, text in completed_files():
        path.write_text(text, encoding="utf-8")
