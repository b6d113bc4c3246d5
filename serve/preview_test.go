package serve

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"image/png"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/wire"
)

// previewed asks for a preview in a session of its own, and returns the answer.
func (h *host) previewed(recipe string, asked wire.Preview) wire.Frame {
	h.t.Helper()
	c := &client{t: h.t, conn: h.connect()}
	asked.Recipe, asked.Config = json.RawMessage(recipe), json.RawMessage(`{}`)
	c.send(wire.KindPreview, asked)
	f := c.receive()
	if _, err := c.conn.Receive(); !errors.Is(err, io.EOF) {
		h.t.Errorf("the session goes on: %v", err)
	}
	return f
}

// A preview is the samples with which an epoch begins, also of one that fails, and a
// sheet of them.
func TestPreview(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 22)
	h := start(t)
	c := h.open(recipeFor(root), `{"epochs":2}`)
	var keys []string
	for range 2 {
		batches, _, _ := c.epoch()
		for _, b := range batches {
			keys = append(keys, b.Text[0]...)
		}
	}
	for epoch := range 2 {
		want := keys[epoch*22 : epoch*22+9]
		for i, key := range want {
			if i == 3 {
				phototest.Spoil(t, root, key[strings.LastIndexByte(key, '/')+1:])
			}
		}
		f := h.previewed(recipeFor(root), wire.Preview{Title: "nine", Samples: 9, Epoch: epoch, Columns: 3, Tile: 32})
		if f.Kind != wire.KindPreviewed {
			t.Fatalf("%v: %s", f.Kind, f.Payload)
		}
		size := binary.LittleEndian.Uint32(f.Payload)
		var told wire.Previewed
		if err := json.Unmarshal(f.Payload[4:4+size], &told); err != nil {
			t.Fatal(err)
		}
		m, err := png.Decode(bytes.NewReader(f.Payload[4+size:]))
		if err != nil || m.Bounds().Dx() != told.Width || m.Bounds().Dy() != told.Height || told.Of != 22 || len(told.Samples) != 9 {
			t.Fatalf("%v, %+v", err, told)
		}
		for i, s := range told.Samples {
			var key recipe.Path
			if err := json.Unmarshal(s.Key, &key); err != nil || string(key) != want[i] || s.Error == "" && !strings.HasPrefix(s.Label, "class") {
				t.Errorf("sample %d is %s, %q, want %s; %v", i, s.Key, s.Label, want[i], err)
			}
			if failed := s.Error != ""; failed != (i == 3) && epoch == 0 {
				t.Errorf("sample %d: %s", i, s.Error)
			}
		}
	}
}

func TestPreviewsThatCannotBe(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 2)
	good := recipeFor(root)
	for name, c := range map[string]struct {
		recipe string
		asked  wire.Preview
		code   wire.Code
		said   string
	}{
		"no samples":     {good, wire.Preview{}, wire.CodeRecipe, "a preview of 0 samples"},
		"too many":       {good, wire.Preview{Samples: 1 << 40}, wire.CodeRecipe, "must be from 1 to 10000 samples"},
		"an epoch":       {good, wire.Preview{Samples: 1, Epoch: -1}, wire.CodeRecipe, "of epoch -1"},
		"tiles":          {good, wire.Preview{Samples: 1, Tile: 1 << 20}, wire.CodeRecipe, "tiles of at most 4096"},
		"columns":        {good, wire.Preview{Samples: 1, Columns: -1}, wire.CodeRecipe, "-1 side by side"},
		"no recipe":      {`{"headrace":1,"steps":["decode_image"]}`, wire.Preview{Samples: 1}, wire.CodeRecipe, "step"},
		"no JSON":        {`{"headrace":1,"steps":3}`, wire.Preview{Samples: 1}, wire.CodeRecipe, ""},
		"no such folder": {recipeFor(root + "/none"), wire.Preview{Samples: 1}, wire.CodeSource, "does not exist"},
		"no picture": {strings.Replace(good, `"decode_image"`, `{"decode_npy":{"dtype":"uint8","shape":[3]}}`, 1),
			wire.Preview{Samples: 1}, wire.CodeRecipe, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t).previewed(c.recipe, c.asked)
			var e wire.Error
			if err := json.Unmarshal(f.Payload, &e); err != nil || f.Kind != wire.KindError || e.Code != c.code || !strings.Contains(e.Message, c.said) {
				t.Errorf("%v %+v", f.Kind, e)
			}
		})
	}
}

// A client that goes while its files are listed is not worked for any longer.
func TestPreviewForAClientThatGoes(t *testing.T) {
	leak.Check(t)
	endless := t.TempDir()
	for i := range 40 {
		dir := endless + "/" + string(rune('A'+i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b"} {
			if err := os.Symlink("../"+string(rune('A'+i+1)), dir+"/"+name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Mkdir(endless+"/"+string(rune('A'+40)), 0o755); err != nil {
		t.Fatal(err)
	}
	h := start(t)
	c := &client{t: t, conn: h.connect()}
	c.send(wire.KindPreview, wire.Preview{Open: wire.Open{Recipe: json.RawMessage(recipeFor(endless + "/A")),
		Config: json.RawMessage(`{}`)}, Samples: 1})
	c.conn.Close()
	h.control.Close()
	<-h.ended
	h.engine.sessions.Wait() // for ever, if it went on
}

// Statistics may be asked for by number, and of the time since others.
func TestStatisticsSince(t *testing.T) {
	leak.Check(t)
	c := open(t, recipeFor(phototest.Folder(t, 22)), `{"epochs":1}`)
	type answer struct {
		Number  int64
		Yielded int64
		Error   string
		Text    string

		Resources struct {
			Processes []struct{ Name string }
		}
	}
	ask := func(asked any) (raw []byte, a answer) {
		t.Helper()
		if asked == nil {
			if err := c.conn.Send(wire.KindStats, c.stream, nil); err != nil {
				t.Fatal(err)
			}
		} else {
			c.send(wire.KindStats, asked)
		}
		f := c.receive()
		for f.Kind == wire.KindBatch {
			f = c.receive()
		}
		if f.Kind != wire.KindStatistics {
			t.Fatalf("%v: %s", f.Kind, f.Payload)
		}
		c.decode(f, &a)
		return bytes.Clone(f.Payload), a
	}
	first, a := ask(wire.Stats{Number: 7})
	// this process is both
	if a.Number != 7 || a.Text == "" || len(a.Resources.Processes) != 1 || a.Resources.Processes[0].Name != "engine" {
		t.Errorf("%+v", a)
	}
	if _, a := ask(nil); a.Number != 0 || a.Text == "" {
		t.Errorf("%+v", a)
	}
	if _, a := ask(wire.Stats{Number: 8, Since: first}); a.Number != 8 || a.Error != "" || a.Text == "" {
		t.Errorf("%+v", a)
	}
	for _, wrong := range []string{`{"stages":[{"name":"other"}]}`, `3`, `{"stages":"x"}`} {
		if _, a := ask(wire.Stats{Number: 9, Since: json.RawMessage(wrong)}); a.Number != 9 || a.Error == "" {
			t.Errorf("%s: %+v", wrong, a)
		}
	}
}
