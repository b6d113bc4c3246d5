package python

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// handful are fields of all kinds of memory, but for images.
var handful = sample.Schema{
	{Name: "x", Type: sample.TensorType(tensor.Int64)}, {Name: "y", Type: sample.TensorType(tensor.Int64)},
	{Name: "name", Type: sample.TextType}, {Name: "raw", Type: sample.BytesType},
	{Name: "list", Type: sample.TensorType(tensor.Uint8, tensor.Unknown)},
}

// bench is a loader without processes, and a sample with the fields of handful.
type bench struct {
	host  *Host
	env   *core.Env
	where *record.Columns
	it    *record.Record
}

func newBench(t *testing.T) *bench {
	t.Helper()
	h := described(t)
	b := &bench{host: h, env: &core.Env{Seed: 7, Host: h}}
	b.env.Share(h.Heap)
	b.where = &record.Columns{Of: map[string]record.Column{}, Table: record.NewTable()}
	for _, f := range handful {
		b.where.PutAny(f.Name, f.Type)
	}
	b.it = &record.Record{Source: &record.Source{Name: "files", Draws: 3}, ID: sample.ID{Source: "files", Epoch: 2, Index: 4}, Key: "four"}
	return b
}

// give gives the sample its values, when all steps have columns.
func (b *bench) give() {
	b.env.Room = b.where.Room
	v := b.env.Blank(b.it)
	binary.NativeEndian.PutUint64(v.Data(b.where.Of["x"]), 1)
	binary.NativeEndian.PutUint64(v.Data(b.where.Of["y"]), 2)
	v.Texts[b.where.Of["name"].At] = "four"
	v.Bytes[b.where.Of["raw"].At] = []byte("raw")
	v.Arrays[b.where.Of["list"].At] = record.Array{Shape: tensor.Shape{3}, Data: []byte{5, 6, 7}}
}

// end looks that nothing is held when samples are gone.
func (b *bench) end(t *testing.T, all ...*record.Record) {
	t.Helper()
	for _, it := range all {
		b.env.Drop(it)
	}
	if n := b.host.Heap.Held(); n != 0 {
		t.Errorf("%d bytes are still held", n)
	}
}

// made is a value in memory that a worker has filled.
func (b *bench) made(v extern.Value) extern.Value {
	v.Data = append(b.host.Heap.Take(len(v.Data))[:0], v.Data...)
	return v
}

func listOf(data ...byte) extern.Value {
	return extern.Value{Kind: sample.Tensor, DType: tensor.Uint8, Shape: tensor.Shape{len(data)}, Data: data}
}

func giving(names ...string) recipe.Gives {
	var s sample.Schema
	for _, name := range names {
		s = append(s, handful[handful.Find(name)])
	}
	return recipe.Gives{Schema: s}
}

// A function is given a sample's values, in memory that its worker has too, and the key
// of its draws. Those that it gives back as they are may be other fields then.
func TestACallAndItsResults(t *testing.T) {
	b := newBench(t)
	f, out, err := NewFunction(b.env, recipe.Step{Name: "swap", Args: &Map{
		Python: recipe.Python{Function: "m:f"}, Gives: giving("x", "y", "list")}}, handful, b.where)
	if err != nil || out.String() != "x int64, y int64, list uint8 [?]" {
		t.Fatalf("%v, %v", out, err)
	}
	b.give()
	c := f.Call(b.it)
	key, id := order.NewKey(7, 2, 3, 4), order.OpID("swap")
	if c.ID != b.it.ID || c.Key != "four" || c.Random != [2]uint64{key.Uint64(id, 0), key.Uint64(id, 1)} || c.Keys != nil {
		t.Errorf("%+v", c)
	}
	if c.In[2].Text != "four" || string(c.In[3].Data) != "raw" || !bytes.Equal(c.In[4].Data, []byte{5, 6, 7}) || !c.In[4].Shape.Equal(tensor.Shape{3}) {
		t.Errorf("%+v", c.In)
	}
	for _, v := range c.In[3:] {
		if !b.host.Heap.Has(v.Data) {
			t.Errorf("%q is in memory that no worker has", v.Data)
		}
	}

	c.Out, c.Same = []extern.Value{{}, {}, b.made(listOf(8, 9))}, []int{1, 0, -1}
	if err := f.store(b.it, c); err != nil {
		t.Fatal(err)
	}
	v := b.it.Values
	x, y := v.Data(b.where.Of["x"]), v.Data(b.where.Of["y"])
	if !bytes.Equal(x, valueOf(2).Data) || !bytes.Equal(y, valueOf(1).Data) {
		t.Errorf("x is %v, y is %v", x, y)
	}
	if list := v.Arrays[b.where.Of["list"].At]; !bytes.Equal(list.Data, []byte{8, 9}) || !list.Shape.Equal(tensor.Shape{2}) {
		t.Errorf("the list is %+v", list)
	}
	if slices.Contains(v.Texts, "four") || len(slices.Concat(v.Bytes...)) > 0 {
		t.Error("fields are still there that the function has not given")
	}
	f.Done(c)
	b.end(t, b.it)
}

// A result that does not fit is an error of the function, and changes nothing.
func TestResultsThatDoNotFit(t *testing.T) {
	b := newBench(t)
	f, _, err := NewFunction(b.env, recipe.Step{Name: "map", Args: &Map{
		Python: recipe.Python{Function: "m:f", Fields: []string{"list"}}, Gives: giving("list")}}, handful, b.where)
	if err != nil {
		t.Fatal(err)
	}
	b.give()
	c := f.Call(b.it)
	wrong := b.made(listOf(8, 9))
	wrong.DType = tensor.Int8
	c.Out, c.Same = []extern.Value{wrong}, []int{-1}
	err = f.store(b.it, c)
	if err == nil || !strings.Contains(err.Error(), `headrace: map gives "list" as int8 [2]: it must be uint8 [?]`) {
		t.Error(err)
	}
	if list := b.it.Values.Data(b.where.Of["list"]); !bytes.Equal(list, []byte{5, 6, 7}) {
		t.Errorf("the list is %v", list)
	}
	b.end(t, b.it)
}

// Samples that are made of one have a number, its place, and copies of the fields that
// pass by the function.
func TestSamplesMadeOfOne(t *testing.T) {
	b := newBench(t)
	step := recipe.Step{Name: "split", Args: &FlatMap{
		Python: recipe.Python{Function: "m:f", Fields: []string{"list"}}, Gives: giving("list")}}
	f, _, err := NewFlatMapFunction(b.env, fuse.Part{Step: &step}, handful, b.where)
	if err != nil {
		t.Fatal(err)
	}
	b.give()
	var all []*record.Record
	for n := range int64(3) {
		child, err := f.child(b.it, n, []extern.Value{b.made(listOf(byte(n)))})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, child)
	}
	b.env.Drop(b.it)
	for n, child := range all {
		v, id := child.Values, b.it.ID
		id.Output = sample.Output(strconv.Itoa(n))
		if child.ID != id || child.Key != "four" || !slices.Equal(child.Made, []int64{int64(n)}) {
			t.Errorf("%+v", child)
		}
		if got := v.Data(b.where.Of["list"]); !bytes.Equal(got, []byte{byte(n)}) || v.Texts[b.where.Of["name"].At] != "four" ||
			string(v.Bytes[b.where.Of["raw"].At]) != "raw" || !bytes.Equal(v.Data(b.where.Of["y"]), valueOf(2).Data) {
			t.Errorf("sample %d: %+v", n, v)
		}
	}
	b.end(t, all...)
}

// Each function of a chain has its own key, and what stays is not the chain's.
func TestACallOfAChain(t *testing.T) {
	b := newBench(t)
	steps := []recipe.Step{
		{Name: "one", Args: &Map{Python: recipe.Python{Function: "m:f", Fields: []string{"x"}}, Gives: giving("x")}},
		{Name: "two", Args: &Filter{Python: recipe.Python{Function: "m:g", Fields: []string{"x", "name"}}}},
	}
	f, out, err := NewChain(b.env, steps, "one+two", handful, b.where)
	if err != nil || len(out) != len(handful) || !f.Filters || !f.Makes("x") || f.Makes("name") || len(f.taken) > 0 {
		t.Fatalf("%+v, %v, %v", f, out, err)
	}
	b.give()
	c, key := f.Call(b.it), order.NewKey(7, 2, 3, 4)
	var want [][2]uint64
	for _, name := range []string{"one", "two"} {
		want = append(want, [2]uint64{key.Uint64(order.OpID(name), 0), key.Uint64(order.OpID(name), 1)})
	}
	if !slices.Equal(c.Keys, want) || c.Random != [2]uint64{} || len(c.In) != 2 || c.In[1].Text != "four" {
		t.Errorf("%+v, want keys %v", c, want)
	}
	b.end(t, b.it)
}
