import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import check_docs  # noqa: E402


class CheckDocsTest(unittest.TestCase):
    def problems(self, text):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            (root / "docs").mkdir()
            (root / "docs" / "other.md").write_text("# Other page\n\n## Two `words`\n", encoding="utf-8")
            page = root / "docs" / "page.md"
            page.write_text(text, encoding="utf-8")
            return check_docs.check_document(root, page)

    def test_links_to_files_folders_and_headings_pass(self):
        text = "# Page\n[a](other.md) [b](other.md#two-words) [c](#page) [d](../docs) [e](https://example.org/x)\n"
        self.assertEqual(self.problems(text), [])

    def test_a_missing_file_is_named_with_its_line(self):
        self.assertEqual(self.problems("one\n[a](missing.md)\n"), ["docs/page.md:2: missing.md: no such file"])

    def test_a_missing_heading_is_named(self):
        self.assertEqual(self.problems("[a](other.md#three)\n"), ["docs/page.md:1: other.md#three: no such heading"])

    def test_a_link_out_of_the_repository_is_refused(self):
        self.assertEqual(len(self.problems("[a](../../etc)\n")), 1)

    def test_code_is_not_read(self):
        self.assertEqual(self.problems("```\n[a](missing.md)\n```\nand `[b](missing.md)`\n"), [])


if __name__ == "__main__":
    unittest.main()
