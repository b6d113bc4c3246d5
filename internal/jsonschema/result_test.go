package jsonschema

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

type inner struct {
	Deep  int     `json:"deep" doc:"how deep"`
	Other *string `json:"other"`
}

type named struct {
	X float64
}

type itself struct {
	Below []itself `json:"below,omitempty"`
}

type written2 struct {
	inner
	Named   named          `json:"named"`
	Took    time.Duration  `json:"took_ns"`
	List    []int64        `json:"list"`
	Maybe   []bool         `json:"maybe,omitempty" doc:"may be"`
	When    time.Time      `json:"when"`
	Counts  map[string]int `json:"counts"`
	Raw     json.RawMessage
	Pair    [2]uint8 `json:"pair"`
	Tree    itself   `json:"tree"`
	private int
	Hidden  int `json:"-"`
}

func TestResult(t *testing.T) {
	_ = written2{private: 1}
	got, err := json.MarshalIndent(Result(reflect.TypeFor[written2]()), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(got, &schema); err != nil {
		t.Fatal(err)
	}
	compact := func(b []byte) string {
		var v any
		json.Unmarshal(b, &v)
		out, _ := json.Marshal(v)
		return string(out)
	}
	for name, want := range map[string]string{
		"deep":    `{"description":"how deep","type":"integer"}`,
		"other":   `{"anyOf":[{"type":"string"},{"type":"null"}]}`,
		"named":   `{"properties":{"X":{"type":"number"}},"required":["X"],"type":"object"}`,
		"took_ns": `{"type":"integer"}`,
		"list":    `{"anyOf":[{"items":{"type":"integer"},"type":"array"},{"type":"null"}]}`,
		"maybe":   `{"description":"may be","items":{"type":"boolean"},"type":"array"}`,
		"when":    `{}`,
		"counts":  `{"anyOf":[{"additionalProperties":{"type":"integer"},"type":"object"},{"type":"null"}]}`,
		"Raw":     `{}`,
		"pair":    `{"items":{"type":"integer"},"maxItems":2,"minItems":2,"type":"array"}`,
		"tree":    `{"properties":{"below":{"items":{},"type":"array"}},"required":[],"type":"object"}`,
	} {
		if got := compact(schema.Properties[name]); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if len(schema.Properties) != 11 || len(schema.Required) != 10 {
		t.Errorf("%s", got)
	}
}
