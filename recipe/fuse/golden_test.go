package fuse_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/goldens.jsonl again, of the recipes that are in it")

// golden is a recipe with everything that is said of it before anything runs. States and
// files of users rest on the first three.
type golden struct {
	Recipe      json.RawMessage `json:"recipe"`
	Fingerprint string          `json:"fingerprint"`
	Outline     []string        `json:"outline"`
	Error       string          `json:"error,omitempty"`
	Schemas     []string        `json:"schemas,omitempty"`
	Plans       []string        `json:"plans,omitempty"` // fused, and with each step by itself
}

// TestGoldens holds recipes, their fingerprints, mistakes and plans against what they
// were when the file was written.
func TestGoldens(t *testing.T) {
	const path = "testdata/goldens.jsonl"
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var now bytes.Buffer
	lines := bufio.NewScanner(bytes.NewReader(file))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var want golden
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		is := goldenOf(t, want.Recipe)
		line, err := json.Marshal(is)
		if err != nil {
			t.Fatal(err)
		}
		if !*rewrite && !bytes.Equal(line, lines.Bytes()) {
			t.Errorf("line %d was …%s, and is …%s", n, difference(lines.Bytes(), line), difference(line, lines.Bytes()))
		}
		now.Write(append(line, '\n'))
	}
	if *rewrite {
		if err := os.WriteFile(path, now.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func goldenOf(t *testing.T, doc []byte) (g golden) {
	t.Helper()
	r, err := recipe.Parse(doc)
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	if g.Recipe, err = r.MarshalJSON(); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	g.Fingerprint, g.Outline = r.Fingerprint(), r.Outline()
	schemas, err := r.Schemas()
	for _, s := range schemas {
		g.Schemas = append(g.Schemas, s.String())
	}
	if err != nil {
		g.Error = err.Error()
		return g
	}
	for _, plan := range []func(recipe.Recipe) (fuse.Plan, error){fuse.Fuse, fuse.Separate} {
		p, err := plan(r)
		if err != nil {
			g.Plans = append(g.Plans, err.Error())
			continue
		}
		g.Plans = append(g.Plans, planText(p))
	}
	return g
}

// planText is what runs together, and what comes out of it.
func planText(p fuse.Plan) string {
	var all []string
	for _, s := range p.Samples.Sources() {
		all = append(all, fmt.Sprintf("%s of %v", strings.Join(s.Names, "+"), s.Schema()))
	}
	for _, m := range p.Samples.Merges() {
		all = append(all, fmt.Sprintf("%s %s %s %d %s", m.Name, m.Order, mixing(m), m.Seed, m.Until))
	}
	for _, part := range p.Parts() {
		all = append(all, part.Name())
	}
	return strings.Join(append(all, p.Schema.String(), p.Rows.String()), "; ")
}

// difference is some of a, from where it is not b.
func difference(a, b []byte) []byte {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	return a[max(0, at-60):min(len(a), at+60)]
}

// mixing is how often each of a mix is next; of a merge it is empty.
func mixing(m *fuse.Merge) string {
	if m.Mix == nil {
		return "[]"
	}
	text, _ := json.Marshal(m.Mix)
	return string(text)
}
