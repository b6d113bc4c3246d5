package otlp_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/headrace/headrace/internal/otlp"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/stats"
)

// followed is a loader that tells of some spans once it is asked.
func followed(all ...stats.Span) otlp.Loader {
	stages := []pipe.StageStats{{Name: "files", Kind: "source"}, {Name: "read", Kind: "map"}, {Name: "decode_image+batch", Kind: "batch"}}
	return otlp.Loader{
		Labels: map[string]string{"loader": "train"}, Stages: func() []pipe.StageStats { return stages },
		Spans: func(tell func(stats.Span)) func() {
			for _, s := range all {
				tell(s)
			}
			return func() {}
		},
	}
}

var t0 = time.Unix(1000, 0)

// span is one of the sample at a position, from one second on to the next.
func span(stage string, kind pipe.SpanKind, pos int64, second int) stats.Span {
	s := stats.Span{Key: "a.jpg", Index: 100 + pos}
	s.Stage, s.Kind, s.Source, s.Pos, s.Item = stage, kind, "files", pos, "item"
	s.Begin, s.Took, s.Items = t0.Add(time.Duration(second)*time.Second), time.Second, 1
	return s
}

func attribute(s *tracev1.Span, name string) any {
	for _, a := range s.Attributes {
		if a.Key == name {
			if text := a.Value.GetStringValue(); text != "" {
				return text
			}
			return a.Value.GetIntValue()
		}
	}
	return nil
}

// TestFollow: of several samples that is chosen which is seen from its first step on, and
// named when its batch is handed over. A worker may tell of its last step later.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := span("read", pipe.Starved, 0, 0)
		waits.Source = ""
		trace := otlp.Follow(t.Context(), followed(
			waits,
			span("decode_image+batch", pipe.Operation, 0, 0), // read before
			span("read", pipe.Operation, 4, 1), span("read", pipe.Operation, 5, 2),
			span("", pipe.HandOver, 0, 3),
			span("decode_image+batch", pipe.Operation, 4, 4), span("decode_image+batch", pipe.Operation, 5, 4),
			span("decode_image+batch", pipe.Work, 4, 6), span("", pipe.HandOver, 4, 9),
		))
		if len(trace) != 5 {
			t.Fatal(trace)
		}
		root := trace[0]
		if root.Name != "sample" || attribute(root, "position") != int64(4) || attribute(root, "index") != int64(104) ||
			attribute(root, "key") != "a.jpg" || attribute(root, "loader") != "train" || attribute(root, "source") != "files" ||
			root.StartTimeUnixNano != uint64(t0.Add(time.Second).UnixNano()) ||
			root.EndTimeUnixNano != uint64(t0.Add(10*time.Second).UnixNano()) {
			t.Error(root)
		}
		for i, name := range []string{"read", "decode_image+batch", "seal batch", "hand over"} {
			s := trace[1+i]
			of := string(s.TraceId) == string(root.TraceId) && string(s.ParentSpanId) == string(root.SpanId)
			if s.Name != name || !of || len(s.SpanId) != 8 {
				t.Error(s)
			}
		}
	})
}

// TestFollowInPart: where no sample is seen until its end, the one of which most is known
// is told, with its failure.
func TestFollowInPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed, dropped := span("decode_image+batch", pipe.Operation, 8, 2), span("read", pipe.Operation, 9, 0)
		failed.Err, dropped.Err = errors.New("no image \xff"), pipe.Skip
		trace := otlp.Follow(t.Context(), followed(dropped, span("read", pipe.Operation, 8, 0), failed))
		if len(trace) != 3 || attribute(trace[0], "position") != int64(8) ||
			trace[2].Status.GetMessage() != "no image \uFFFD" || trace[0].Status.GetCode() != tracev1.Status_STATUS_CODE_ERROR {
			t.Error(trace)
		}
		trace = otlp.Follow(t.Context(), followed(dropped))
		if len(trace) != 2 || trace[1].Status != nil || attribute(trace[1], "dropped") != "true" {
			t.Error(trace)
		}
	})
}

// TestFollowNothing: nothing comes of a loader that does nothing, or ends.
func TestFollowNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if trace := otlp.Follow(t.Context(), followed()); trace != nil {
			t.Error(trace)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if trace := otlp.Follow(ctx, followed(span("read", pipe.Operation, 8, 0))); trace != nil {
			t.Error(trace)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		idle := followed()
		idle.Stages = func() []pipe.StageStats { return nil }
		if trace := otlp.Follow(ctx, idle); trace != nil {
			t.Error(trace)
		}
	})
}

// TestFollowIsBounded: a loader of a million samples does not fill the memory.
func TestFollowIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []stats.Span
		for pos := range int64(5000) {
			all = append(all, span("read", pipe.Operation, pos, 0))
		}
		for range 1000 {
			all = append(all, span("read", pipe.Operation, 3, 1))
		}
		if trace := otlp.Follow(t.Context(), followed(all...)); len(trace) != 65 {
			t.Error(len(trace))
		}
	})
}
