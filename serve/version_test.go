package serve

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/internal/version"
	"github.com/headrace/headrace/wire"
)

func TestHelloSaysWhichEngineThisIs(t *testing.T) {
	leak.Check(t)
	hello := startSilent(t, &engine{ioEngine: ioEngine{gate: headrace.NewGate(), cpus: 2}}).greet("")
	here := version.Here()
	if hello.Version != version.Version || hello.Commit != here.Commit || hello.Decoder != headrace.Decoder() || hello.CPUs != 2 {
		t.Errorf("%+v", hello)
	}
	var features version.Features
	if err := json.Unmarshal(hello.Features, &features); err != nil || features.Decoders["jpeg"] != here.Features.Decoders["jpeg"] {
		t.Errorf("%s: %v", hello.Features, err)
	}
}

// A client of another release may lack or expect something: its first session is
// reported, once.
func TestAClientOfAnotherVersionIsTold(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 8)
	for _, theirs := range []string{"", version.Version, "0.0.9"} {
		h := startSilent(t, &engine{ioEngine: ioEngine{gate: headrace.NewGate(), cpus: 2}})
		h.greet(theirs)
		for session, want := range []bool{theirs == "0.0.9", false} {
			if note := h.versionNote(recipeFor(root)); (note != "") != want {
				t.Errorf("client %q, session %d: %q", theirs, session, note)
			} else if want && !strings.Contains(note, "is version "+version.Version+", the package that started it 0.0.9: install the two from one release") {
				t.Errorf("%q", note)
			}
		}
	}
}

// versionNote runs a session, and returns the note about versions that came in it.
func (h *host) versionNote(recipe string) string {
	h.t.Helper()
	c := h.open(recipe, `{"epochs":1}`)
	for c.receive().Kind != wire.KindBatch {
	}
	for _, text := range c.notes {
		var note wire.Note
		if err := json.Unmarshal([]byte(text), &note); err != nil {
			h.t.Fatal(err)
		}
		if note.Code == "version" {
			return note.Message
		}
	}
	return ""
}
