package report

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/store"
)

// Failure tells in lines of an error that has ended a run: which sample, and why; then
// in which step, and where in the epoch. What a function of Python has raised comes
// first, as it is. An error that is about no sample stays as it is.
func Failure(err error) string {
	var stage *pipe.StageError
	var bad *sample.Error
	if !errors.As(err, &stage) || !errors.As(stage.Err, &bad) {
		return err.Error()
	}
	before, after, found := strings.Cut(err.Error(), stage.Error())
	rest, about := strings.CutPrefix(stage.Err.Error(), bad.Error())
	if !found || !about {
		return err.Error()
	}
	name := store.Shown(bad.Key)
	key := strconv.Quote(name) // which may hold any bytes, line breaks too
	key = key[1 : len(key)-1]
	where := fmt.Sprintf("in %s, epoch %d, position %d", cmp.Or(Step(err), stage.Stage), stage.Epoch, stage.Pos)
	if bad.Output != "" {
		where += ", output " + string(bad.Output)
	}

	cause := bad.Err.Error() + rest
	if call := (*extern.CallError)(nil); errors.As(err, &call) && after == "" {
		if around, ok := strings.CutSuffix(cause, call.Error()); ok {
			if around = strings.TrimSuffix(around, ": "); around != "" {
				where += ": " + around
			}
			return fmt.Sprintf("%s%s\n  of %s, %s", before, call.Error(), key, where)
		}
	}
	cause, more, _ := strings.Cut(cause+after, "\n")
	if more != "" {
		more = "\n" + more
	}
	return fmt.Sprintf("%s%s: %s\n  %s%s", before, key, ofFile(cause, name), where, more)
}

var (
	reading = regexp.MustCompile(`^store: read "((?:[^"\\]|\\.)*)": `)
	prefix  = regexp.MustCompile(`^(headrace|media|sound|video): `)
)

// ofFile is a cause without the words that the name of its sample has said already.
func ofFile(cause, key string) string {
	if read := reading.FindStringSubmatch(cause); read != nil {
		cause = "cannot be read: " + cause[len(read[0]):]
		// the key is the path, as it was given
		if path, err := strconv.Unquote(`"` + read[1] + `"`); err != nil || !strings.HasSuffix(path, key) {
			cause = read[1] + " " + cause
		}
	}
	return prefix.ReplaceAllString(cause, "")
}

// Step is the step that has failed, where that is known: a stage may carry out several.
func Step(err error) string {
	var step *core.StepError
	var call *extern.CallError
	var died *extern.WorkerError
	var limit *extern.LimitError
	var stage *pipe.StageError
	switch {
	case errors.As(err, &step):
		return step.Step
	case errors.As(err, &call):
		if call.Step == "" && errors.As(err, &stage) {
			first, _, _ := strings.Cut(stage.Stage, "+") // a stage that is no chain has its function first
			return first
		}
		return call.Step
	case errors.As(err, &died):
		return died.Stage
	case errors.As(err, &limit):
		return limit.Stage
	}
	return ""
}
