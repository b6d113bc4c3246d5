package headrace_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/pipe"
)

// Random tests are about what comes out, for which they run without the race detector.
// What that finds, it finds in a few runs, which it makes long.
func init() {
	if underRace && os.Getenv("RAPID_CHECKS") == "" {
		flag.Set("rapid.checks", "25")
	}
}

// tree draws a recipe of sources, merges, mixes and routes, whose samples come to 8×8
// pixels.
func tree(t *rapid.T, roots []string) string {
	n := 0
	pick := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, what) }
	failures := func() string {
		return pick("failures", "", "", `,"failures":{"on_error":"replace","max_errors":1.0}`, `,"failures":{"on_error":"skip","max_errors":1.0}`, `,"failures":{"retries":1,"wait":0}`)
	}
	named := func(op, args string) string {
		n++
		if op == "route" {
			return fmt.Sprintf(`{%q:{%s},"name":"%s_%d"}`, op, args, op, n)
		}
		return fmt.Sprintf(`{%q:{%s},"name":"%s_%d"%s}`, op, args, op, n, failures())
	}
	// images draws steps, of which the last gives so many pixels.
	images := func(side int) string {
		all := ""
		for range rapid.IntRange(0, 2).Draw(t, "steps") {
			all += "," + pick("step", named("resize", fmt.Sprintf(`"size":%d`, rapid.IntRange(1, 90).Draw(t, "size"))), named("rotate90", `"turns":1`), named("random_flip", ""))
		}
		return all + "," + named("resize", fmt.Sprintf(`"size":[%d,%d]`, side, side))
	}
	route := func(side int) string {
		by, when := "label", "0"
		if rapid.Bool().Draw(t, "by key") {
			by, when = "key", `"*[0-5].jpg"`
		}
		return named("route", fmt.Sprintf(`"by":%q,"branches":[{"when":[%s],"steps":[%s]},{"steps":[%s]}]`, by, when, images(side)[1:], images(side)[1:]))
	}
	var source func(deep int, mixed bool) string
	source = func(deep int, mixed bool) string {
		if deep == 0 || rapid.Bool().Draw(t, "files") {
			s := named("files", fmt.Sprintf(`"pattern":%q,"root":"/","label":"parent"`, pick("root", roots...)))
			if rapid.Bool().Draw(t, "shuffled") {
				n++
				s += fmt.Sprintf(`,{"shuffle":{"seed":%d},"name":"shuffle_%d"}`, n, n)
			}
			return s + "," + named("decode_image", "") + images(20)
		}
		of, weights := "", ""
		mixed = mixed || rapid.Bool().Draw(t, "mixed") // what restarts has no merges in it
		for range rapid.IntRange(1, 3).Draw(t, "merged") {
			of += ",[" + source(deep-1, mixed) + "]"
			weights += fmt.Sprintf(",%d", rapid.IntRange(1, 3).Draw(t, "weight"))
		}
		n++
		if mixed {
			until := pick("until", `"longest"`, `"shortest"`, "17")
			return fmt.Sprintf(`{"mix":{"of":[%s],"weights":[%s],"until":%s,"source":""},"name":"mix_%d"}`, of[1:], weights[1:], until, n)
		}
		s := fmt.Sprintf(`{"merge":{"of":[%s],"order":%q,"until":%q},"name":"merge_%d"}`, of[1:], pick("order", "round_robin", "arrival"), pick("until", "longest", "shortest"), n)
		if rapid.Bool().Draw(t, "route inside") {
			s += "," + route(20)
		}
		return s
	}
	steps := source(2, false)
	for range rapid.IntRange(0, 2).Draw(t, "routes") {
		steps += "," + route(16)
	}
	return steps + images(8)
}

// Whatever the tree, and however little memory there is: samples that hold bytes wait
// for each other only where that ends, and nothing is held at the end.
func TestTreesNeverWaitForThemselves(t *testing.T) {
	leak.Check(t)
	roots := []string{phototest.Folder(t, 13), phototest.Folder(t, 8), phototest.Folder(t, 21)}
	phototest.Spoil(t, roots[0], "003.jpg")
	phototest.Spoil(t, roots[2], "004.jpg")
	phototest.Spoil(t, roots[2], "009.jpg")
	rapid.Check(t, func(rt *rapid.T) {
		steps := tree(rt, roots)
		r := parseRecipe(t, `%s,{"batch":{"size":3}}`, steps)
		batchBytes := int64(3 * 8 * 8 * 3)
		memory := int64(6*1024) + rapid.SampledFrom([]int64{0, 3000, 20000, 1 << 20}).Draw(rt, "memory") + 5*batchBytes
		c := Config{
			Epochs: new(2), Memory: &memory, Workers: new(rapid.IntRange(1, 5).Draw(rt, "workers")), OnError: rapid.SampledFrom([]OnError{Skip, Replace}).Draw(rt, "on error"), MaxErrors: ErrorRate(1),
			Order: rapid.SampledFrom([]Order{InputOrder, CompletionOrder}).Draw(rt, "order"), Fuse: new(rapid.Bool().Draw(rt, "fuse")), Prefetch: new(rapid.IntRange(1, 3).Draw(rt, "prefetch")),
		}
		l, err := Open(t.Context(), r, c, Options{})
		if err != nil {
			rt.Fatalf("%s: %v", steps, err)
		}
		defer l.Close()
		if err := l.Start(State{}, nil); err != nil {
			rt.Fatal(err)
		}
		var held []*Batch
		hold := rapid.IntRange(0, 4).Draw(rt, "held")
		letGo := func(n int) {
			for ; len(held) > n; held = held[1:] {
				held[0].Release()
			}
		}
		defer letGo(0)
		for epochs := 0; epochs < 2; {
			b, err := l.Next(t.Context())
			if err == io.EOF {
				epochs++
				continue
			}
			if err != nil {
				rt.Fatalf("%s: %v", steps, err)
			}
			held = append(held, b)
			letGo(hold)
		}
		letGo(0)
		l.Close()
		if n := l.Stats().Memory.Used; n != 0 {
			rt.Fatalf("%s: %d bytes are still held", steps, n)
		}
	})
}

// In input order a run goes on with the same batches, wherever it is cut, whatever the
// tree and the failures.
func TestRandomTreesGoOnWhereTheyAreCut(t *testing.T) {
	leak.Check(t)
	roots := []string{phototest.Folder(t, 13), phototest.Folder(t, 8), phototest.Folder(t, 21)}
	phototest.Spoil(t, roots[0], "003.jpg")
	phototest.Spoil(t, roots[2], "004.jpg")
	phototest.Spoil(t, roots[2], "009.jpg")
	rapid.Check(t, func(rt *rapid.T) {
		steps := strings.ReplaceAll(tree(rt, roots), `"arrival"`, `"round_robin"`)
		r := parseRecipe(t, `%s,{"batch":{"size":3,"drop_last":%v}}`, steps, rapid.Bool().Draw(rt, "drop last"))
		c := Config{Epochs: new(2), OnError: rapid.SampledFrom([]OnError{Skip, Replace}).Draw(rt, "on error"), MaxErrors: ErrorRate(1), Fuse: new(rapid.Bool().Draw(rt, "fuse"))}
		run := func(from State, cut int) (all []string, at State) {
			c.Workers = new(rapid.IntRange(1, 5).Draw(rt, "workers"))
			l, err := Open(t.Context(), r, c, Options{})
			if err != nil {
				rt.Fatalf("%s: %v", steps, err)
			}
			defer l.Close()
			if err := l.Start(from, nil); err != nil {
				rt.Fatalf("%s: %v", steps, err)
			}
			for len(all) != cut {
				b, err := l.Next(t.Context())
				if err == io.EOF {
					continue
				}
				if err == pipe.ErrDone {
					break
				}
				if err != nil {
					rt.Fatalf("%s: %v", steps, err)
				}
				all = append(all, fmt.Sprint(rows(t, b)))
				b.Release()
			}
			return all, l.State()
		}
		whole, end := run(State{}, -1)
		for range 3 {
			cut := rapid.IntRange(0, len(whole)).Draw(rt, "cut")
			head, state := run(State{}, cut)
			rest, last := run(state, -1)
			if got := append(head, rest...); !slices.Equal(got, whole) || fmt.Sprint(last) != fmt.Sprint(end) {
				rt.Fatalf("%s: cut after %d of %d batches, there are %d, or others", steps, cut, len(whole), len(got))
			}
		}
	})
}
