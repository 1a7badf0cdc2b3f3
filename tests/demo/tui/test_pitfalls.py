"""What breaks in programs that fill a terminal, and which tests guard this one against it."""

from pathlib import Path
from typing import Final

import pytest

from tests.demo.tui.conftest import TuiFactory, Until
from tests.demo.tui.shell_screen import build_shell

TESTS: Final = Path(__file__).resolve().parents[2]
TUI, E2E = "demo/tui", "e2e/test_tui_terminal.py"
PITFALLS: Final[dict[str, tuple[str, ...]]] = {
    "1. data that looks like markup is read as markup, or crashes a pane or a toast": (
        f"{TUI}/test_shell_frame.py::test_data_that_looks_like_markup_is_shown_as_it_is_in_every_pane_and_notice",
        f"{TUI}/test_walk_faults.py::test_data_that_looks_like_markup_is_shown_as_it_is",
        f"{TUI}/test_explore.py::test_data_is_never_read_as_markup",
        f"{TUI}/test_lines_view.py::test_data_is_shown_as_it_is_whatever_it_looks_like",
        f"{TUI}/test_plain_text.py::test_data_is_no_markup",
    ),
    "2. the mouse is captured, and nothing can be selected and copied": (
        f"{TUI}/test_shell_frame.py::test_the_side_that_is_read_is_what_y_copies",
        f"{TUI}/test_shell_frame.py::test_the_mouse_is_switched_off_and_on_again",
        f"{TUI}/test_shell_frame.py::test_help_is_about_the_focused_panel_and_lists_its_keys",
        f"{E2E}::test_a_text_is_read_in_the_pager_and_the_program_comes_back",
    ),
    "3. a copy through the terminal is lost and reported as done": (
        f"{TUI}/test_copying.py::test_a_clipboard_program_of_the_desktop_is_used_and_named",
        f"{TUI}/test_copying.py::test_a_clipboard_program_that_fails_leaves_it_to_the_terminal_which_is_only_asked",
        f"{E2E}::test_a_copy_names_its_file_and_the_file_holds_a_command_that_runs",
    ),
    "4. no key quits where ^Q is swallowed, or q quits while one types": (
        f"{TUI}/test_shell_frame.py::test_q_is_a_letter_in_an_input_and_quits_elsewhere",
        f"{TUI}/test_shell_frame.py::test_every_binding_has_an_id_a_description_and_is_not_only_on_ctrl_alt_or_function_keys",
        f"{TUI}/test_shell_life.py::test_leaving_gives_the_exit_code_of_the_checks",
        f"{E2E}::test_control_c_twice_leaves",
    ),
    "5. a crash or a failed check exits with 0": (
        f"{TUI}/test_walk_faults.py::test_a_failed_check_is_named_and_makes_the_exit_code_1",
        f"{TUI}/test_walk_faults.py::test_a_fault_of_the_program_ends_it_with_exit_code_1",
        f"{TUI}/test_shell_life.py::test_a_crash_leaves_its_traceback_in_a_file_alone_and_exits_with_one",
        f"{TUI}/test_shell_life.py::test_a_crash_in_a_worker_exits_with_one",
    ),
    "6. the terminal is left in mouse mode or on the other screen after a kill": (
        f"{E2E}::test_a_signal_ends_it_with_the_code_of_the_signal_and_leaves_the_terminal_as_it_was",
        f"{E2E}::test_it_brings_its_own_server_and_takes_it_along",
        f"{TUI}/test_shell_life.py::test_the_exit_code_is_the_programs_and_one_line_is_said_after_it",
    ),
    "7. without a terminal, frames end up in files": (
        f"{TUI}/test_copying.py::test_where_a_stream_is_no_terminal_the_walk_is_told_as_plain_text",
        f"{E2E}::test_without_any_terminal_the_walk_is_told_as_text_with_one_line_about_it",
        f"{E2E}::test_frames_never_end_up_where_errors_are_redirected_to",
    ),
    "8. without colours everything is black on black": (
        f"{TUI}/test_shell_frame.py::test_without_colours_no_theme_is_offered_that_leaves_colours_to_the_terminal",
        f"{E2E}::test_without_colours_what_is_chosen_and_what_failed_is_told_in_words_and_symbols",
        f"{E2E}::test_sixteen_colours_are_enough",
        f"{TUI}/test_lines_view.py::test_a_found_text_is_marked_by_more_than_colour",
    ),
    "9. screen readers cannot follow": (
        f"{TUI}/test_walk_facts.py::test_every_fact_on_the_screen_stands_in_the_plain_text",
        f"{E2E}::test_a_terminal_that_cannot_place_text_gets_the_plain_walk",
    ),
    "10. small screens lose keys and content": (
        f"{TUI}/test_walk.py::test_next_back_and_quit_are_always_on_the_screen",
        f"{TUI}/test_walk.py::test_every_panel_can_be_brought_to_the_front",
        f"{TUI}/test_walk.py::test_the_layout_follows_the_size_while_the_walk_plays",
        f"{TUI}/test_explore.py::test_every_panel_is_reached_by_keys_at_every_size",
        f"{TUI}/test_explore.py::test_the_screen_is_resized_while_it_is_used",
    ),
    "11. everything freezes while a call hangs": (
        f"{TUI}/test_walk_faults.py::test_a_hanging_call_leaves_everything_to_be_looked_at_and_escape_breaks_it_off",
        f"{TUI}/test_explore.py::test_quit_works_while_everything_hangs",
        f"{TUI}/test_shell_frame.py::test_a_large_answer_is_laid_out_beside_the_program_which_goes_on_meanwhile",
        f"{E2E}::test_quitting_works_at_once_while_a_call_hangs",
    ),
    "12. it flickers, and layouts follow one another": (
        f"{TUI}/test_plain_text.py::test_what_fits_as_before_lays_out_nothing",
        f"{TUI}/test_pitfalls.py::test_nothing_is_animated_and_the_screen_can_be_drawn_anew",
    ),
    "13. pinned screens break with each release of Textual": (
        f"{TUI}/test_walk_facts.py::test_the_diagram_of_the_step_up_is_as_pinned",
        f"{TUI}/test_walk_facts.py::test_the_smallest_screen_is_as_pinned",
        f"{TUI}/test_explore.py::test_the_smallest_screen_is_as_pinned",
        f"{TUI}/test_shell_frame.py::test_the_help_is_as_pinned",
    ),
}


@pytest.mark.parametrize("pitfall", PITFALLS)
def test_each_pitfall_is_guarded_by_tests_that_are_there(pitfall: str) -> None:
    for guard in PITFALLS[pitfall]:
        file, name = guard.split("::")
        text = (TESTS / file).read_text(encoding="utf-8")
        assert f"\ndef {name}(" in text or f"\nasync def {name}(" in text, guard


def test_all_thirteen_are_here() -> None:
    assert [int(pitfall.split(".")[0]) for pitfall in PITFALLS] == list(range(1, 14))


async def test_nothing_is_animated_and_the_screen_can_be_drawn_anew(
    tui_app: TuiFactory, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        assert app.animation_level == "none"
        drawn: list[bool] = []
        monkeypatch.setattr(app.screen, "refresh", lambda *_, repaint=True, **__: drawn.append(repaint))
        await pilot.press("ctrl+l")
        await until(pilot, lambda: drawn)
        assert drawn[0]
