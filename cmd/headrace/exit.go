package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/headrace/headrace"
	failures "github.com/headrace/headrace/internal/report"
	"github.com/headrace/headrace/recipe"
)

// How a command ends, for scripts.
const (
	exitDone        = 0
	exitFailed      = 1   // the source, a sample, input or output
	exitUsage       = 2   // wrong use, or a mistake in the recipe
	exitLost        = 3   // done, but samples were lost or replaced, as the policy allows
	exitInterrupted = 130 // by a signal, as shells say it of Ctrl-C
)

// commandError is the error of a command that ran; any other is of a command line that
// cobra did not understand.
type commandError struct{ error }

func (e *commandError) Unwrap() error { return e.error }

// codeError is an error that decides the exit code. Without a cause nothing is written.
type codeError struct {
	code  int
	cause error
}

func (e *codeError) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.cause.Error()
}

func (e *codeError) Unwrap() error { return e.cause }

// wrongUse marks an error as the user's mistake.
func wrongUse(err error) error {
	if err == nil {
		return nil
	}
	return &codeError{exitUsage, err}
}

// exitCode says how a command line that ended in err ends.
func exitCode(err error) int {
	ran, decided, mistake := (*commandError)(nil), (*codeError)(nil), (*recipe.Error)(nil)
	switch {
	case err == nil:
		return exitDone
	case !errors.As(err, &ran):
		return exitUsage
	case errors.As(err, &decided):
		return decided.code
	case errors.As(err, &mistake), errors.Is(err, headrace.ErrConfig):
		return exitUsage
	default:
		return exitFailed
	}
}

// report writes an error, each of joined ones in a line of its own. Below a mistake in a
// recipe's file is where it is.
func report(w io.Writer, err error) {
	if decided := (*codeError)(nil); err == nil || errors.As(err, &decided) && decided.cause == nil {
		return
	}
	all := joined(err)
	frames := make([]string, len(all)+1)
	for i, e := range all {
		frames[i] = codeFrame(e, widthFor(w), colours(w))
	}
	for i, e := range all {
		text := line(remedied(e))
		if isTerminal(w) { // elsewhere editors and grep want a line for each
			text = foldedError(text, widthFor(w))
		}
		fmt.Fprintln(w, text)
		if frames[i] != frames[i+1] { // once, below all that is wrong there
			io.WriteString(w, frames[i])
		}
	}
}

// remedied is an error in lines, with what can be done about a bad sample.
func remedied(err error) string {
	text := failures.Failure(err)
	lines := strings.Split(text, "\n")
	last := lines[len(lines)-1]
	if len(lines) > 1 && strings.HasPrefix(last, "in ") && strings.Contains(last, ", sample ") { // of a shard
		last = lines[len(lines)-2]
	}
	switch {
	case errors.Is(err, headrace.ErrTooManyLost):
		return text + "\n  --max-errors allows more than 1 % of the samples, at least 10"
	case !strings.HasPrefix(last, "  in "):
		return text
	}
	return text + "\n  --on-error skip leaves such samples out"
}

// foldedError breaks lines that are too long, and indents what follows.
func foldedError(text string, width int) string {
	var all []string
	for _, line := range strings.Split(text, "\n") {
		before := line[:indent(line)]
		for i, part := range wrapped(line[len(before):], max(20, width-len(before)-4)) {
			if i > 0 {
				part = "    " + part
			}
			all = append(all, before+part)
		}
	}
	return strings.Join(all, "\n")
}

// joined takes apart what errors.Join put together.
func joined(err error) []error {
	for {
		one, ok := err.(interface{ Unwrap() error })
		if !ok || one.Unwrap() == nil || one.Unwrap().Error() != err.Error() {
			break
		}
		err = one.Unwrap() // it adds no words
	}
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	var texts []string
	for _, e := range several.Unwrap() {
		all = append(all, joined(e)...)
		texts = append(texts, e.Error())
	}
	if strings.Join(texts, "\n") != err.Error() { // an error that wraps two
		return []error{err}
	}
	return all
}

// line is an error as it is written: it begins with the program's name, or with the
// place in a file, for editors find that only there.
func line(text string) string {
	text = strings.TrimPrefix(text, "headrace: ")
	if located(text) {
		return text
	}
	return "headrace: " + text
}

// located reports whether a text begins with file:line:column.
func located(text string) bool {
	var line, column int
	for at := range len(text) {
		if text[at] != ':' {
			continue
		}
		if n, _ := fmt.Sscanf(text[at:], ":%d:%d:", &line, &column); n == 2 {
			return true
		}
		if strings.HasPrefix(text[at:], ": ") {
			return false
		}
	}
	return false
}
