import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import summarize_tests  # noqa: E402

CTEST = """<testsuite>
  <testcase name="unit" status="run"><system-out/></testcase>
  <testcase name="script" status="run"><system-out/></testcase>
  <testcase name="oracle" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
    <system-out>needs numpy</system-out></testcase>
  {more}
</testsuite>"""

UNIT = """<testsuites><testsuite name="Sum">
  <testcase name="Adds" classname="Sum" status="run" result="completed"/>
  <testcase name="Carries" classname="Sum" status="run" result="completed">{inner}</testcase>
  <testcase name="Reads" classname="Sum" status="run" result="skipped">
    <skipped message="/x/sum_test.cc:10&#x0A;no data here&#x0A;"/></testcase>
  <testcase name="Off" classname="Sum" status="notrun" result="suppressed"/>
</testsuite></testsuites>"""


class SummarizeTestsTest(unittest.TestCase):
    def summarize(self, more="", inner="", checks=()):
        with tempfile.TemporaryDirectory() as build:
            Path(build, "results").mkdir()
            Path(build, "tests.xml").write_text(CTEST.format(more=more), encoding="utf-8")
            Path(build, "results", "unit.xml").write_text(UNIT.format(inner=inner), encoding="utf-8")
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                status = summarize_tests.main([*checks, f"ctest:release={build}"])
            return status, out.getvalue().splitlines()

    def test_googletest_cases_count_one_by_one_and_the_last_line_stands_alone(self):
        status, lines = self.summarize(checks=["check:format=passed"])
        self.assertEqual(lines[-1], "4 passed, 0 failed, 2 skipped")
        self.assertEqual(status, 0)

    def test_skips_are_listed_with_their_reason(self):
        text = "\n".join(self.summarize()[1])
        self.assertIn("skipped 1: no data here", text)
        self.assertIn("skipped 1: needs numpy", text)

    def test_a_failed_case_fails_the_run_and_shows_its_message(self):
        failed = '<testcase name="unit2" status="fail"><system-out>gone</system-out></testcase>'
        status, lines = self.summarize(more=failed, inner='<failure message="2 is not 3"/>')
        self.assertEqual(lines[-1], "2 passed, 2 failed, 2 skipped")
        self.assertIn("2 is not 3", "\n".join(lines))
        self.assertEqual(status, 1)

    def test_a_crash_without_results_is_one_failure(self):
        crash = '<testcase name="crash" status="fail"><failure message="Segfault"/><system-out>x</system-out></testcase>'
        status, lines = self.summarize(more=crash)
        self.assertEqual(lines[-1], "3 passed, 1 failed, 2 skipped")
        self.assertEqual(status, 1)

    def test_a_test_that_was_not_built_is_a_failure(self):
        missing = '<testcase name="gone" status="notrun"><system-out>Unable to find executable</system-out></testcase>'
        self.assertEqual(self.summarize(more=missing)[1][-1], "3 passed, 1 failed, 2 skipped")

    def test_a_failed_check_fails_the_run(self):
        status, lines = self.summarize(checks=["check:layers=failed"])
        self.assertEqual(lines[-1], "3 passed, 1 failed, 2 skipped")
        self.assertEqual(status, 1)

    def test_no_results_at_all_is_a_failure(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = summarize_tests.main(["ctest:release=/nonexistent"])
        self.assertEqual(status, 1)
        self.assertEqual(out.getvalue().splitlines()[-1], "0 passed, 1 failed")


if __name__ == "__main__":
    unittest.main()
