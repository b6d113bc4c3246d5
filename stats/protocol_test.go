package stats_test

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/pipe/observe/counters"
	"github.com/headrace/headrace/stats"
)

const protocol = "../docs/protocol.md"

// The protocol has tables of all numbers, which are made from their tags.
func TestTablesOfTheProtocol(t *testing.T) {
	page, err := os.ReadFile(protocol)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- the statistics, written by go test ./stats -run Tables -rewrite -->\n", "<!-- their end -->\n"
	before, rest, ok := strings.Cut(string(page), begin)
	tables, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no place for the tables, between %q and %q", protocol, begin, end)
	}
	want := statisticsTables()
	if tables == want {
		return
	}
	if !*rewrite {
		t.Fatalf("the tables are not those of the statistics; go test ./stats -run Tables -rewrite writes these:\n%s", want)
	}
	if err := os.WriteFile(protocol, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// statisticsTables has a table for each object of the answer, the outer ones first.
func statisticsTables() string {
	var b strings.Builder
	for _, o := range objects(reflect.TypeFor[stats.Document](), "") {
		title := "The answer"
		if o.path != "" {
			title = "`" + o.path + "`"
		}
		fmt.Fprintf(&b, "\n%s:\n\n| key | kind | unit | |\n|---|---|---|---|\n", title)
		for _, f := range counters.Of(o.typ) {
			row := fmt.Sprintf("| `%s` | %s | %s | %s |\n", f.Name, f.Kind, f.Unit, strings.ReplaceAll(f.Doc, "'", "`"))
			b.WriteString(strings.ReplaceAll(row, "  ", " "))
		}
	}
	return b.String() + "\n"
}

// object is a struct of the answer, or what a list of it holds.
type object struct {
	path string // of keys
	typ  reflect.Type
}

func objects(t reflect.Type, path string) []object {
	all := []object{{path, t}}
	var inner func(t reflect.Type)
	inner = func(t reflect.Type) {
		for field := range t.Fields() {
			if field.Anonymous {
				inner(field.Type)
				continue
			}
			each, list := field.Type, ""
			if each.Kind() == reflect.Slice {
				each, list = each.Elem(), "[]"
			}
			if each.Kind() == reflect.Pointer {
				each = each.Elem()
			}
			if each.Kind() == reflect.Struct {
				key := strings.TrimPrefix(path+"."+counters.FigureOf(field).Name+list, ".")
				all = append(all, objects(each, key)...)
			}
		}
	}
	inner(t)
	return all
}

// units are those that numbers may have, since an exporter has to know them.
var units = strings.Fields("batches bytes calls cores frames items messages ns packs processes " +
	"recordings requests rows samples/s shares threads workers")

// A number without tags would be missing in the tables and in Since.
func TestEveryNumberIsDescribed(t *testing.T) {
	numbers := 0
	for _, o := range objects(reflect.TypeFor[stats.Document](), "") {
		for field := range o.typ.Fields() {
			f := counters.FigureOf(field)
			where := fmt.Sprintf("%s of %v", field.Name, o.typ)
			switch {
			case f.Name == "-" || field.Anonymous:
				continue
			case f.Doc == "" || strings.HasSuffix(f.Doc, "."):
				t.Errorf("%s: doc is %q: must say what it is, without a full stop", where, f.Doc)
			}
			if f.Kind == counters.LabelKind {
				number := slices.Contains([]reflect.Kind{reflect.Int, reflect.Int64, reflect.Float64}, field.Type.Kind())
				if field.Type == reflect.TypeFor[*int64]() || number && !slices.Contains([]string{"pid", "up_to_ns"}, f.Name) {
					t.Errorf("%s is a number: say counter or gauge, and its unit", where)
				}
				continue
			}
			numbers++
			if !slices.Contains(units, f.Unit) {
				t.Errorf("%s has the unit %q: must be one of %v", where, f.Unit, units)
			}
			if (f.Unit == "ns") != strings.HasSuffix(f.Name, "_ns") {
				t.Errorf("%s is called %s, and has the unit %q", where, f.Name, f.Unit)
			}
		}
	}
	if numbers < 60 {
		t.Errorf("only %d numbers were found", numbers)
	}
}

// Each count of steps is told, is in JSON under its name, and is counted from an earlier
// snapshot on.
func TestEachCountIsTold(t *testing.T) {
	typ := reflect.TypeFor[stats.Counts]()
	found := 0
	for field := range typ.Fields() {
		f := counters.FigureOf(field)
		if f.Kind != counters.CounterKind {
			continue
		}
		s, earlier := training(), training()
		reflect.ValueOf(&s.Counts).Elem().FieldByIndex(field.Index).SetInt(7)
		reflect.ValueOf(&earlier.Counts).Elem().FieldByIndex(field.Index).SetInt(4)

		sentence := strings.ToUpper(f.Doc[:1]) + f.Doc[1:] + ": 7."
		if text := stats.Text(s); !strings.Contains(text, sentence) {
			t.Errorf("%s: no %q in\n%s", f.Name, sentence, text)
		}
		if text := stats.Text(training()); strings.Contains(text, f.Doc[1:]) {
			t.Errorf("%s: 0 is told, in\n%s", f.Name, text)
		}
		since, err := s.Since(earlier)
		if err != nil {
			t.Fatal(err)
		}
		if n := reflect.ValueOf(since.Counts).FieldByIndex(field.Index).Int(); n != 3 {
			t.Errorf("%s: 7 since 4 is %d", f.Name, n)
		}
		found++
	}
	if found < 2 {
		t.Errorf("%d counts were found", found)
	}
}
