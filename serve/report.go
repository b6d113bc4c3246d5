package serve

import (
	"errors"
	"strings"

	"headrace/extern"
	"headrace/pipe"
	"headrace/recipe"
	"headrace/sample"
	"headrace/wire"
)

// report sends err to the client, with the stage and the sample to blame where there
// are any, after what workers have said before.
func (s *session) report(err error) error {
	s.logs.flush()
	return s.conn.SendJSON(wire.KindError, s.stream.Load(), describe(err))
}

func describe(err error) wire.Error {
	e := wire.Error{Code: code(err), Message: err.Error()}
	var stage *pipe.StageError
	if errors.As(err, &stage) {
		e.Stage, e.Source, e.Epoch, e.Position = stage.Stage, stage.Source, &stage.Epoch, &stage.Pos
	}
	var bad *sample.Error
	if errors.As(err, &bad) {
		e.Key, e.Index, e.Output = pathJSON(bad.Key), &bad.Index, bad.Output.Numbers()
	}
	e.Step = stepOf(err, e.Stage)
	var call *extern.CallError
	if errors.As(err, &call) {
		e.RemoteType, e.RemoteMessage, e.RemoteTraceback = call.Type, call.Message, call.Traceback
		if where, ok := strings.CutSuffix(e.Message, ": "+call.Error()); ok && e.Code == wire.CodeSample {
			e.Message = call.Error() + "\n" + where // the user's own line first
		}
	}
	return e
}

// stepOf is the step whose function has failed; "": none has. A stage that is not a
// chain has its function first.
func stepOf(err error, stage string) string {
	var call *extern.CallError
	var died *extern.WorkerError
	var limit *extern.LimitError
	switch {
	case errors.As(err, &call) && call.Step != "":
		return call.Step
	case call != nil:
		step, _, _ := strings.Cut(stage, "+")
		return step
	case errors.As(err, &died):
		return died.Stage
	case errors.As(err, &limit):
		return limit.Stage
	}
	return ""
}

// pathJSON writes a path so that bytes that are no UTF-8 survive.
func pathJSON(p string) wire.Path {
	b, err := recipe.Path(p).MarshalJSON()
	if err != nil {
		return wire.Path(`""`)
	}
	return b
}
