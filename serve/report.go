package serve

import (
	"errors"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/report"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/wire"
)

func describe(err error) wire.Error {
	e := wire.Error{Code: code(err), Message: report.Failure(err), Step: report.Step(err)}
	if stage, ok := errors.AsType[*pipe.StageError](err); ok {
		e.Stage, e.Source, e.Epoch, e.Position = stage.Stage, stage.Source, &stage.Epoch, &stage.Pos
	}
	if bad, ok := errors.AsType[*sample.Error](err); ok {
		e.Key, e.Index, e.Output = pathJSON(bad.Key), &bad.Index, bad.Output.Numbers()
	}
	if call, ok := errors.AsType[*extern.CallError](err); ok {
		e.RemoteType, e.RemoteMessage, e.RemoteTraceback = call.Type, call.Message, call.Traceback
	}
	return e
}

// pathJSON writes a path so that bytes that are no UTF-8 survive.
func pathJSON(p string) wire.Path {
	b, err := recipe.Path(p).MarshalJSON()
	if err != nil {
		return wire.Path(`""`)
	}
	return b
}
