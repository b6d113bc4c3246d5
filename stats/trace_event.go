package stats

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/headrace/headrace/pipe"
)

// Events are written by hand, because there are many. Each begins with a comma but the
// first.

// longText is how much of a name or an error is reported, in bytes.
const longText = 500

// appendHead writes the metadata: the subject of the trace and its start.
func (t *Trace) appendHead(b []byte) []byte {
	b = append(b, "[\n{\"ph\":\"M\",\"name\":\"process_name\",\"args\":{\"name\":\"headrace\"}"...)
	b = append(t.appendPlace(b, 0), '}')
	b = append(b, ",\n{\"ph\":\"i\",\"s\":\"g\",\"name\":\"trace\",\"ts\":0,\"args\":{\"began\":"...)
	b = appendText(b, t.began.UTC().Format(time.RFC3339Nano))
	b = append(t.appendPlace(append(b, '}'), 0), '}')
	return b
}

// appendEnd says how much is missing, and closes the array.
func (t *Trace) appendEnd(b []byte) []byte {
	b = append(b, ",\n{\"ph\":\"i\",\"s\":\"g\",\"name\":\"end of trace\",\"ts\":"...)
	b = appendMicros(b, time.Since(t.began))
	b = append(b, ",\"args\":{\"dropped\":"...)
	b = strconv.AppendInt(b, t.dropped.Load(), 10)
	b = append(t.appendPlace(append(b, '}'), 0), "}\n]\n"...)
	return b
}

// appendThread names a track, and puts it in its place.
func (t *Trace) appendThread(b []byte, k *track, of thread) []byte {
	name := "consumer"
	if of.stage == LoopTrack {
		name = LoopTrack
	} else if program, ok := programThread(of.stage); ok {
		name = "program: " + program
	} else if of.stage != "" {
		name = k.label + " " + strconv.Itoa(of.worker)
	}
	b = append(b, ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"args\":{\"name\":"...)
	b = appendText(b, name)
	b = append(t.appendPlace(append(b, '}'), k.tid), '}')
	b = append(b, ",\n{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":"...)
	b = strconv.AppendInt(b, int64(k.tid), 10)
	return append(t.appendPlace(append(b, '}'), k.tid), '}')
}

func (t *Trace) appendPlace(b []byte, tid int) []byte {
	b = append(b, ",\"pid\":"...)
	b = strconv.AppendInt(b, int64(t.pid), 10)
	b = append(b, ",\"tid\":"...)
	return strconv.AppendInt(b, int64(tid), 10)
}

func (t *Trace) appendGauge(b []byte, at time.Duration, g Gauge) []byte {
	b = append(b, ",\n{\"ph\":\"C\",\"name\":"...)
	b = appendText(b, g.Name)
	b = append(b, ",\"ts\":"...)
	b = appendMicros(b, at)
	b = append(b, ",\"args\":{"...)
	b = appendText(b, g.Unit)
	b = append(b, ':')
	b = strconv.AppendFloat(b, g.Value, 'f', -1, 64)
	return append(t.appendPlace(append(b, '}'), 0), '}')
}

// spanNames are what a kind is called, and what it counts as. An operation is called as
// its stage.
var spanNames = [...]struct{ name, category string }{
	pipe.Operation: {"", "operation"},
	pipe.Work:      {"work", "work"},
	pipe.Starved:   {"starved", "wait"},
	pipe.Blocked:   {"blocked", "wait"},
	pipe.Gated:     {"gated", "wait"},
	pipe.Queued:    {"queued", "wait"},
	pipe.HandOver:  {"hand-over", "hand-over"},
	pipe.Consuming: {"consuming", "consumer"},
}

func (t *Trace) appendSpan(b []byte, k *track, s *pipe.Span) []byte {
	from, took := s.Begin.Sub(t.began), s.Took
	if from < 0 {
		from, took = 0, took+from
	}

	name, category := k.label, ""
	if s.Kind >= 0 && int(s.Kind) < len(spanNames) {
		category = spanNames[s.Kind].category
		switch {
		case s.Kind == pipe.Work && s.Item != nil:
			name = "seal"
		case s.Kind != pipe.Operation:
			name = spanNames[s.Kind].name
		}
	}

	b = append(b, ",\n{\"ph\":\"X\",\"name\":"...)
	b = appendText(b, name)
	b = append(b, ",\"cat\":\""...)
	b = append(b, category...)
	b = append(b, "\",\"ts\":"...)
	b = appendMicros(b, from)
	b = append(b, ",\"dur\":"...)
	b = appendMicros(b, took)
	b = t.appendPlace(b, k.tid)

	if s.Source != "" || s.Item != nil || s.Err != nil || s.Items > 1 {
		b = t.appendArguments(b, s)
	}
	if s.Source != "" {
		b = t.appendArrow(b, k, s)
	}
	return append(b, '}')
}

func (t *Trace) appendArguments(b []byte, s *pipe.Span) []byte {
	b = append(b, ",\"args\":{"...)
	empty := len(b)

	key := func(name string) {
		if len(b) > empty {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, name...)
		b = append(b, "\":"...)
	}
	number := func(name string, n int64) {
		key(name)
		b = strconv.AppendInt(b, n, 10)
	}

	if t.o.Name != nil && s.Item != nil {
		text, index := t.o.Name(s.Item)
		if text != "" {
			key("key")
			b = appendText(b, text)
		}
		if index >= 0 {
			number("index", index)
		}
	}

	if s.Source != "" {
		key("source")
		b = appendText(b, s.Source)
		number("epoch", int64(s.Epoch))
		number("position", s.Pos)
	}

	if s.Items > 1 {
		number("items", int64(s.Items))
	}

	if errors.Is(s.Err, pipe.Skip) {
		key("dropped")
		b = append(b, "true"...)
	} else if s.Err != nil {
		key("error")
		text := s.Err.Error()
		b = appendText(b, text[:min(len(text), longText)])
	}
	return append(b, '}')
}

// appendArrow connects an operation with those before and after it on the same sample,
// and a hand-over with the sealing of its batch.
func (t *Trace) appendArrow(b []byte, k *track, s *pipe.Span) []byte {
	id := t.source(s.Source)<<56 | uint64(s.Epoch&0xffff)<<40 | uint64(s.Pos)&(1<<40-1)
	const batch = 1 << 63
	in, out := false, false
	switch {
	case k.raw:
		return b
	case s.Kind == pipe.Operation:
		in, out = !k.first, true
	case s.Kind == pipe.Work:
		id, out = id|batch, true
	case s.Kind == pipe.HandOver:
		id, in = id|batch, true
	}
	b = append(b, ",\"bind_id\":\"0x"...)
	b = strconv.AppendUint(b, id, 16)
	b = append(b, '"')
	if in {
		b = append(b, ",\"flow_in\":true"...)
	}
	if out {
		b = append(b, ",\"flow_out\":true"...)
	}
	return b
}

// appendMicros writes a time in microseconds, to the nanosecond.
func appendMicros(b []byte, d time.Duration) []byte {
	b = strconv.AppendInt(b, int64(d/time.Microsecond), 10)
	if n := d % time.Microsecond; n > 0 {
		b = append(b, '.', byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10))
	}
	return b
}

// appendText writes a text as JSON does; of a long one its end, for that is what names
// differ in. Bytes that are not UTF-8 are replaced.
func appendText(b []byte, text string) []byte {
	const dots = "…"
	if len(text) > longText {
		text = dots + text[len(text)-longText:]
	}
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return appendAnyText(b, text)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

func appendAnyText(b []byte, text string) []byte {
	var buf bytes.Buffer
	j := json.NewEncoder(&buf)
	j.SetEscapeHTML(false)
	_ = j.Encode(text) // of a text into memory: no error
	return append(b, bytes.TrimRight(buf.Bytes(), "\n")...)
}

// countEvents counts lines.
func countEvents(text []byte) int64 { return int64(bytes.Count(text, []byte("\n"))) }
