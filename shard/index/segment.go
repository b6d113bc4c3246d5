package index

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Segment is the index of one shard, as it is in a file. Samples are in groups, whose
// places are in a table: one group is read to find a sample.
type Segment struct {
	Fields []Field
	Ints   []Number
	Floats []Number

	Header  []byte            // what records are read by
	Refused map[string]string // fields that cannot be read, and why
	Columns []string          // the order of names in the file

	samples int
	absent  []int   // of numbers that not all samples have, their places in Ints, or behind these in Floats
	shapes  [][]int // lists of fields that samples have, in the order in which they are in the file
	columns bool    // parts follow that of the same field, in the sample before
	align   int64   // of parts

	blocks     int
	blockTable []byte // where each group of them is, and how much is unpacked before it
	table      []byte // where each group is
	data       []byte
}

// Number is one that samples of a shard have, and that is kept in the index itself.
type Number struct {
	Name    string
	DType   tensor.DType // as it is in the file
	Samples int64        // that have it
	Absent  bool         // some have none
	Logical *sample.Logical
}

// Field is a part that samples of a shard have.
type Field struct {
	Name    string
	Type    *sample.Type // nil: the one who reads it says what it is
	Samples int64        // that have it
	Bytes   int64        // of all of them
	Most    int64        // of one
}

// groupSize is how many samples, or blocks, are in a group.
const groupSize = 64

// ErrDamaged marks an index that is not as it was written.
var ErrDamaged = errors.New("shard/index: damaged")

// Encode returns the segment of what a scan has found. The same samples make the same
// bytes.
func (b *Builder) Encode() []byte {
	e := encoder{b: b}
	e.shapesOf()
	e.predict()
	e.header()
	e.groups()
	return append(e.dst, make([]byte, slack)...)
}

func (b *Builder) key(i int) []byte {
	key, _ := b.Of(i)
	return key
}

func (b *Builder) parts(i int) []Part {
	_, parts := b.Of(i)
	return parts
}

type encoder struct {
	b          *Builder
	dst        []byte
	shapes     [][]int
	shapeOf    []int64 // by sample; nil: all have the first
	ints       []string
	floats     []string
	absent     []string  // of ints, and then of floats
	absentRows [][]int64 // of these, those that are still to be written
	columns    bool
	align      int64
}

// shapesOf finds out which lists of fields samples have.
func (e *encoder) shapesOf() {
	known := map[string]int64{}
	var name []byte
	for i := range e.b.Len() {
		parts := e.b.parts(i)
		name = name[:0]
		for _, p := range parts {
			name = binary.AppendUvarint(name, uint64(p.Field))
		}
		n, ok := known[string(name)]
		if !ok {
			n = int64(len(e.shapes))
			known[string(name)] = n
			shape := make([]int, len(parts))
			for k, p := range parts {
				shape[k] = p.Field
			}
			e.shapes = append(e.shapes, shape)
		}
		if n > 0 && e.shapeOf == nil {
			e.shapeOf = make([]int64, e.b.Len())
		}
		if e.shapeOf != nil {
			e.shapeOf[i] = n
		}
	}
	e.ints, e.floats = sortedNames(e.b.Ints), sortedNames(e.b.Floats)
	for _, name := range slices.Concat(e.ints, e.floats) {
		if len(e.b.Absent[name]) > 0 {
			e.absent = append(e.absent, name)
		}
	}
}

// withoutParts are the fields that some sample could have, and none has.
func (e *encoder) withoutParts() (all []string) {
	for _, name := range sortedNames(e.b.Types) {
		t := e.b.Types[name]
		_, known := e.b.known[name]
		if !known && e.b.Refused[name] == "" && (t.Kind != sample.Tensor || len(t.Shape) > 0) {
			all = append(all, name)
		}
	}
	return all
}

func sortedNames[V any](m map[string]V) (all []string) {
	for name := range m {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// tried is how many parts tell how the places of all are to be foreseen.
const tried = 2048

// predict chooses what is foreseen of a part's place: that it follows the one before it
// in the sample, or the one of its field in the sample before, and at which multiple.
func (e *encoder) predict() {
	parts := e.b.Parts
	if len(parts) > tried {
		parts = parts[:tried]
	}
	ends := make([]int64, len(e.b.Fields))
	var end int64
	rows, columns := 0, 0
	for i, p := range parts {
		if near(p.At - end) {
			rows++
		}
		if near(p.At - ends[p.Field]) {
			columns++
		}
		end = p.At + p.Len
		ends[p.Field] = end
		if i < len(e.b.Fields) { // the first has none before it
			columns, rows = 0, 0
		}
	}
	e.columns = columns > rows

	best := math.MaxInt
	for _, align := range []int64{1, 4, 8, 16, 32, 64, 512, 4096} {
		w := e.walk(align)
		gaps := make([]int64, len(parts))
		for i, p := range parts {
			gaps[i] = w.gap(p)
		}
		if n := len(packedAll(gaps)); n < best {
			best, e.align = n, align
		}
	}
	if e.align == 0 {
		e.align = 1
	}
}

func packedAll(numbers []int64) (dst []byte) {
	for group := range slices.Chunk(numbers, groupSize) {
		dst = appendPacked(dst, group)
	}
	return dst
}

func near(gap int64) bool { return gap >= 0 && gap < 4096 }

// walk foresees where parts are, one after the other.
type walk struct {
	align int64
	ends  []int64 // of the last parts: of each field, or of all
}

func (e *encoder) walk(align int64) walk {
	n := 1
	if e.columns {
		n = len(e.b.Fields)
	}
	return walk{align, make([]int64, n)}
}

// expected is where the next part of a field should be.
func (w *walk) expected(field int) (end *int64, at int64) {
	end = &w.ends[0]
	if len(w.ends) > 1 {
		end = &w.ends[field]
	}
	return end, (*end + w.align - 1) &^ (w.align - 1)
}

// gap returns how far a part is from where it should be.
func (w *walk) gap(p Part) int64 {
	end, at := w.expected(p.Field)
	*end = p.At + p.Len
	return p.At - at
}

func (e *encoder) header() {
	b, dst := e.b, e.dst
	dst = binary.AppendUvarint(dst, uint64(b.Len()))

	names := slices.Concat(b.Fields, e.withoutParts())
	fields := make([]Field, len(names))
	for _, p := range b.Parts {
		f := &fields[p.Field]
		f.Samples, f.Bytes, f.Most = f.Samples+1, f.Bytes+p.Len, max(f.Most, p.Len)
	}
	dst = binary.AppendUvarint(dst, uint64(len(fields)))
	for i, f := range fields {
		f.Name = names[i]
		if t, ok := b.Types[f.Name]; ok {
			f.Type = &t
		}
		dst = appendField(dst, f)
	}
	for _, names := range [][]string{e.ints, e.floats} {
		dst = binary.AppendUvarint(dst, uint64(len(names)))
		for _, name := range names {
			dst = appendText(dst, name)
		}
	}

	dst = binary.AppendUvarint(dst, uint64(len(e.shapes)))
	for _, shape := range e.shapes {
		dst = binary.AppendUvarint(dst, uint64(len(shape)))
		for _, f := range shape {
			dst = binary.AppendUvarint(dst, uint64(f))
		}
	}
	dst = appendText(dst, b.Header)
	dst = appendRefused(dst, b.Refused)
	mode := byte(0)
	if e.columns {
		mode |= modeColumns
	}
	if e.numbersDiffer() {
		mode |= modeNumbers
	}
	if e.numbersMean() {
		mode |= modeLogical
	}
	if len(b.Columns) > 0 {
		mode |= modeOrdered
	}
	dst = append(dst, mode)
	dst = binary.AppendUvarint(dst, uint64(e.align))
	if mode&modeNumbers != 0 {
		dst = e.numbers(dst)
	}
	if mode&modeLogical != 0 {
		for _, name := range e.ints {
			dst = appendLogical(dst, e.b.Types[name].Logical)
		}
	}
	if mode&modeOrdered != 0 {
		dst = appendNames(dst, b.Columns)
	}
	e.dst = binary.AppendUvarint(dst, uint64(len(b.Blocks)))
}

// Flags of a segment.
const (
	modeColumns = 1 << iota // parts are foreseen by their columns
	modeNumbers             // the types of numbers follow, and which of them not all samples have
	modeLogical             // what whole numbers stand for follows
	modeOrdered             // the order of names follows

	modes = modeColumns | modeNumbers | modeLogical | modeOrdered
)

// numbersDiffer tells whether there are other numbers than int64 and float64 of all
// samples. Where there are none, nothing is written of it.
func (e *encoder) numbersDiffer() bool {
	for _, name := range e.ints {
		if e.dtype(name, tensor.Int64) != tensor.Int64 {
			return true
		}
	}
	for _, name := range e.floats {
		if e.dtype(name, tensor.Float64) != tensor.Float64 {
			return true
		}
	}
	return len(e.absent) > 0
}

// numbersMean tells whether whole numbers stand for something else.
func (e *encoder) numbersMean() bool {
	return slices.ContainsFunc(e.ints, func(name string) bool { return e.b.Types[name].Logical != nil })
}

func (e *encoder) dtype(name string, usual tensor.DType) tensor.DType {
	if t, ok := e.b.Types[name]; ok && t.Kind == sample.Tensor {
		return t.DType
	}
	return usual
}

func (e *encoder) numbers(dst []byte) []byte {
	for _, name := range e.ints {
		dst = appendText(dst, e.dtype(name, tensor.Int64).String())
		dst = binary.AppendUvarint(dst, uint64(len(e.b.Absent[name])))
	}
	for _, name := range e.floats {
		dst = appendText(dst, e.dtype(name, tensor.Float64).String())
		dst = binary.AppendUvarint(dst, uint64(len(e.b.Absent[name])))
	}
	return dst
}

// readNumbers reads what numbers wrote.
func (s *Segment) readNumbers(c *cursor) {
	behind := 0
	dtype := func(of *Number) {
		d, err := tensor.ParseDType(string(c.text()))
		if err != nil {
			c.fail()
		}
		of.DType = d
	}
	for _, all := range [][]Number{s.Ints, s.Floats} {
		for i := range all {
			n := &all[i]
			dtype(n)
			absent := c.uvarint()
			if absent > uint64(s.samples) {
				c.fail()
				return
			}
			if n.Samples -= int64(absent); absent > 0 {
				n.Absent = true
				s.absent = append(s.absent, behind+i)
			}
		}
		behind += len(all)
	}
}

func appendRefused(dst []byte, refused map[string]string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(refused)))
	for _, name := range sortedNames(refused) {
		dst = appendText(appendText(dst, name), refused[name])
	}
	return dst
}

func (c *cursor) refused() (all map[string]string) {
	for range c.count() {
		if all == nil {
			all = map[string]string{}
		}
		name := string(c.text())
		all[name] = string(c.text())
	}
	return all
}

func appendNames(dst []byte, names []string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(names)))
	for _, name := range names {
		dst = appendText(dst, name)
	}
	return dst
}

func (c *cursor) names() (all []string) {
	for range c.count() {
		all = append(all, string(c.text()))
	}
	return all
}

func appendField(dst []byte, f Field) []byte {
	dst = appendType(appendText(dst, f.Name), f.Type)
	for _, n := range []int64{f.Samples, f.Bytes, f.Most} {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	return dst
}

// appendType writes a type: its kind, and of arrays and text the rest; nil is the kind 0.
func appendType(dst []byte, t *sample.Type) []byte {
	if t == nil {
		return append(dst, 0)
	}
	kind := byte(t.Kind)
	if t.Logical != nil {
		kind |= hasLogical
	}
	if dst = append(dst, kind); t.Kind == sample.Tensor {
		dst = appendText(appendText(dst, t.DType.String()), t.Axes)
	}
	if t.Kind == sample.Tensor || t.Kind == sample.Text {
		dst = binary.AppendUvarint(dst, uint64(len(t.Shape)))
		for _, n := range t.Shape {
			dst = binary.AppendVarint(dst, int64(n))
		}
	}
	if t.Logical != nil {
		dst = appendLogical(dst, t.Logical)
	}
	return dst
}

// hasLogical is a flag of a kind: what the values stand for follows the type.
const hasLogical = 1 << 7

func appendLogical(dst []byte, l *sample.Logical) []byte {
	if l == nil {
		return appendText(dst, "")
	}
	return appendNames(appendText(dst, l.Name), l.Names)
}

func (c *cursor) logical() *sample.Logical {
	name := c.text()
	if len(name) == 0 {
		return nil
	}
	return &sample.Logical{Name: string(name), Names: c.names()}
}

func (c *cursor) typ() *sample.Type {
	kind := c.bytes(1)
	if c.bad || kind[0] == 0 {
		return nil
	}
	t := &sample.Type{Kind: sample.Kind(kind[0] &^ hasLogical)}
	if t.Kind == sample.Tensor {
		var err error
		if t.DType, err = tensor.ParseDType(string(c.text())); err != nil {
			c.fail()
		}
		t.Axes, t.Shape = string(c.text()), tensor.Shape{}
	}
	if t.Kind == sample.Tensor || t.Kind == sample.Text {
		if n := c.count(); n > 0 || t.Kind == sample.Tensor {
			t.Shape = make(tensor.Shape, n)
		}
		for i := range t.Shape {
			t.Shape[i] = int(c.varint())
		}
	}
	if kind[0]&hasLogical != 0 {
		t.Logical = c.logical()
	}
	if (sample.Schema{{Name: "f", Type: *t}}).Check() != nil {
		c.fail()
	}
	return t
}

func (c *cursor) field() (f Field) {
	f.Name, f.Type = string(c.text()), c.typ()
	f.Samples, f.Bytes, f.Most = int64(c.uvarint()), int64(c.uvarint()), int64(c.uvarint())
	if f.Samples < 0 || f.Bytes < 0 || f.Most < 0 {
		c.fail()
	}
	return f
}

// groups writes the tables, and the groups of blocks and samples.
func (e *encoder) groups() {
	var data, blockTable, table []byte
	unpacked := int64(0)
	end := int64(0)
	for group := range slices.Chunk(e.b.Blocks, groupSize) {
		blockTable = binary.LittleEndian.AppendUint64(blockTable, uint64(len(data)))
		blockTable = binary.LittleEndian.AppendUint64(blockTable, uint64(unpacked))
		data = binary.AppendVarint(data, end)
		var gaps, lens, sizes, codecs []int64
		for _, k := range group {
			gaps, lens, sizes, codecs = append(gaps, k.At-end), append(lens, k.Len), append(sizes, k.Size), append(codecs, int64(k.Codec))
			end = k.At + k.Len
			unpacked += k.Size
		}
		for _, list := range [][]int64{gaps, lens, sizes, codecs} {
			data = appendPacked(data, list)
		}
	}
	e.absentRows = make([][]int64, len(e.absent))
	for k, name := range e.absent {
		e.absentRows[k] = e.b.Absent[name]
	}

	data = slices.Grow(data, e.b.Len()*(8*len(e.floats)+2*len(e.ints))) // or most of them are copied again and again
	w := e.walk(e.align)
	lists := make([]lists, len(e.b.Fields))
	for from := 0; from < e.b.Len(); from += groupSize {
		table = binary.LittleEndian.AppendUint64(table, uint64(len(data)))
		data = e.group(data, from, min(from+groupSize, e.b.Len()), &w, lists)
	}
	e.dst = append(append(append(e.dst, blockTable...), table...), data...)
}

// lists are what is written of a field in a group.
type lists struct {
	begin      int64
	gaps, lens []int64
}

func (e *encoder) group(dst []byte, from, to int, w *walk, all []lists) []byte {
	shapes := make([]int64, to-from)
	if e.shapeOf != nil {
		copy(shapes, e.shapeOf[from:to])
	}
	dst = appendPacked(dst, shapes)
	if !e.columns {
		dst = binary.AppendVarint(dst, w.ends[0])
	}
	used := 0
	for i := range all {
		all[i] = lists{gaps: all[i].gaps[:0], lens: all[i].lens[:0]}
		if e.columns {
			all[i].begin = w.ends[i]
		}
	}
	for i := from; i < to; i++ {
		for _, p := range e.b.parts(i) {
			l := &all[p.Field]
			if len(l.gaps) == 0 {
				used++
			}
			l.gaps, l.lens = append(l.gaps, w.gap(p)), append(l.lens, p.Len)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(used))
	for i := range all {
		l := &all[i]
		if len(l.gaps) == 0 {
			continue
		}
		dst = binary.AppendUvarint(dst, uint64(i))
		dst = binary.AppendUvarint(dst, uint64(len(l.gaps)))
		if e.columns {
			dst = binary.AppendVarint(dst, l.begin)
		}
		dst = appendPacked(appendPacked(dst, l.gaps), l.lens)
	}

	numbers := make([]int64, to-from)
	for _, name := range e.ints {
		clear(numbers)
		if column := e.b.Ints[name]; from < len(column) {
			copy(numbers, column[from:])
		}
		dst = appendPacked(dst, numbers)
	}
	for k := range e.absentRows {
		none := make([]int64, to-from)
		rows := &e.absentRows[k]
		for len(*rows) > 0 && (*rows)[0] < int64(to) {
			none[(*rows)[0]-int64(from)] = 1
			*rows = (*rows)[1:]
		}
		dst = appendPacked(dst, none)
	}
	for _, name := range e.floats {
		column := e.b.Floats[name]
		for i := from; i < to; i++ {
			v := 0.0
			if i < len(column) {
				v = column[i]
			}
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
		}
	}
	return e.keys(dst, from, to)
}

// alphabets are sets of sixteen bytes. Where what keys do not have in common is of one of
// them, two fit into a byte.
var alphabets = [...]string{"0123456789_-./ n", "0123456789abcdef"}

// raw is the number of no alphabet.
const raw = byte(len(alphabets))

// keys writes the keys of a group: of each, how many bytes it has in common with the one
// before it, how many it has besides, where not all are equally long, and these.
func (e *encoder) keys(dst []byte, from, to int) []byte {
	length, alphabet := len(e.b.key(from)), byte(0)
	same := make([]int, to-from)
	for i := from + 1; i < to; i++ {
		key, before := e.b.key(i), e.b.key(i-1)
		n := 0
		for n < min(len(key), len(before)) && key[n] == before[n] {
			n++
		}
		same[i-from] = n
		if len(key) != length {
			length = -1
		}
		for alphabet < raw && strings.Trim(string(key[n:]), alphabets[alphabet]) != "" {
			if alphabet++; alphabet < raw { // what came before has to be of it, too
				i, length = from, len(e.b.key(from))
				break
			}
		}
	}
	dst = append(binary.AppendVarint(dst, int64(length)), alphabet)
	if length == 0 {
		return dst
	}
	for i := from; i < to; i++ {
		rest := e.b.key(i)[same[i-from]:]
		if i > from {
			dst = binary.AppendUvarint(dst, uint64(same[i-from]))
		}
		if length < 0 {
			dst = binary.AppendUvarint(dst, uint64(len(rest)))
		}
		if i == from || alphabet == raw {
			dst = append(dst, rest...)
			continue
		}
		for k := 0; k < len(rest); k += 2 {
			two := byte(strings.IndexByte(alphabets[alphabet], rest[k]))
			if k+1 < len(rest) {
				two |= byte(strings.IndexByte(alphabets[alphabet], rest[k+1])) << 4
			}
			dst = append(dst, two)
		}
	}
	return dst
}

// Parse returns the segment that is in these bytes, which must stay as they are.
func Parse(b []byte) (*Segment, error) {
	c := cursor{b: b}
	s := new(Segment)
	samples := c.uvarint()
	for range c.count() {
		s.Fields = append(s.Fields, c.field())
	}
	for _, n := range []struct {
		all   *[]Number
		usual tensor.DType
	}{{&s.Ints, tensor.Int64}, {&s.Floats, tensor.Float64}} {
		for range c.count() {
			*n.all = append(*n.all, Number{Name: string(c.text()), DType: n.usual, Samples: int64(min(samples, 1<<48))})
		}
	}
	for range c.count() {
		shape := make([]int, c.count())
		for k := range shape {
			shape[k] = int(min(c.uvarint(), math.MaxInt32))
			if shape[k] >= len(s.Fields) {
				c.fail()
			}
		}
		s.shapes = append(s.shapes, shape)
	}
	s.Header = c.text()
	s.Refused = c.refused()
	mode := c.bytes(1)
	align := c.uvarint()
	s.samples = int(min(samples, 1<<48))
	if !c.bad && mode[0]&modeNumbers != 0 {
		s.readNumbers(&c)
	}
	if !c.bad && mode[0]&modeLogical != 0 {
		for i := range s.Ints {
			s.Ints[i].Logical = c.logical()
		}
	}
	if !c.bad && mode[0]&modeOrdered != 0 {
		s.Columns = c.names()
	}
	blocks := c.uvarint()
	switch {
	case c.bad, mode[0] > modes,
		align == 0, align&(align-1) != 0, align > 1<<20, // no power of two
		samples > 1<<48, blocks > 1<<48:
		return nil, ErrDamaged
	}
	s.columns, s.align, s.blocks = mode[0]&modeColumns != 0, int64(align), int(blocks)

	if s.samples > groupSize*len(b) || s.blocks > groupSize*len(b) {
		return nil, ErrDamaged
	}
	s.blockTable = c.bytes(16 * groupsOf(s.blocks))
	s.table = c.bytes(8 * groupsOf(s.samples))
	s.data = c.b
	if c.bad || s.samples > 0 && len(s.shapes) == 0 {
		return nil, ErrDamaged
	}
	return s, nil
}

func groupsOf(n int) int { return (n + groupSize - 1) / groupSize }

// Len is how many samples there are.
func (s *Segment) Len() int { return s.samples }

// group finds the group of a sample, and its number in it, of n.
func (s *Segment) group(i int) (c cursor, k, n int, err error) {
	if i < 0 || i >= s.samples {
		return c, 0, 0, ErrDamaged
	}
	at := binary.LittleEndian.Uint64(s.table[i/groupSize*8:])
	if at > uint64(len(s.data)) {
		return c, 0, 0, ErrDamaged
	}
	return cursor{b: s.data[at:]}, i % groupSize, min(groupSize, s.samples-i/groupSize*groupSize), nil
}

// column is what is written of a field in a group.
type column struct {
	field, count, next int
	end                int64
	gaps, lens         packed
}

// columnsOf reads the columns of a group. What follows them is left in c.
func (s *Segment) columnsOf(c *cursor, n int, into []column) (shapes packed, end int64, all []column) {
	shapes = c.packed(n)
	if !s.columns {
		end = c.varint()
	}
	for range c.count() {
		k := column{field: int(min(c.uvarint(), math.MaxInt32)), count: int(min(c.uvarint(), groupSize+1))}
		if k.count > groupSize || k.field >= len(s.Fields) {
			c.fail()
		}
		if s.columns {
			k.end = c.varint()
		}
		k.gaps = c.packed(k.count)
		k.lens = c.packed(k.count)
		into = append(into, k)
	}
	return shapes, end, into
}

// Parts appends the parts of a sample.
func (s *Segment) Parts(i int, into []Part) ([]Part, error) {
	c, k, n, err := s.group(i)
	if err != nil {
		return into, err
	}
	var room [8]column
	shapes, end, columns := s.columnsOf(&c, n, room[:0])
	if c.bad {
		return into, ErrDamaged
	}
	if !s.columns && len(s.shapes) == 1 && len(columns) == len(s.shapes[0]) {
		return s.partsOfOneShape(end, columns, k, into)
	}
	var places [16]int
	byField := places[:] // one more than the number of its column
	if len(s.Fields) > len(byField) {
		byField = make([]int, len(s.Fields))
	}
	for j := range columns {
		byField[columns[j].field] = j + 1
	}

	for j := 0; j <= k; j++ {
		shape := shapes.at(j)
		if shape < 0 || shape >= int64(len(s.shapes)) {
			return into, ErrDamaged
		}
		for _, f := range s.shapes[shape] {
			if byField[f] == 0 {
				return into, ErrDamaged
			}
			at, size, ok := s.next(&columns[byField[f]-1], &end)
			if !ok {
				return into, ErrDamaged
			}
			if j == k {
				into = append(into, Part{f, at, size})
			}
		}
	}
	return into, nil
}

// GroupSize is how many samples are in a group, as [Numbers.Seek] finds them.
const GroupSize = groupSize

// PartsOf sets into to the parts of one field that the samples have which are in the
// group of sample i. That of a sample without it has the field -1.
func (s *Segment) PartsOf(i, field int, into *[GroupSize]Part) error {
	c, _, n, err := s.group(i)
	if err != nil {
		return err
	}
	var room [8]column
	shapes, end, columns := s.columnsOf(&c, n, room[:0])
	if c.bad {
		return ErrDamaged
	}
	byField := make([]*column, len(s.Fields))
	for j := range columns {
		byField[columns[j].field] = &columns[j]
	}
	for j := range n {
		into[j] = Part{Field: -1}
		shape := shapes.at(j)
		if shape < 0 || shape >= int64(len(s.shapes)) {
			return ErrDamaged
		}
		for _, f := range s.shapes[shape] {
			if s.columns && f != field {
				continue // where it is, the others do not say
			}
			if byField[f] == nil {
				return ErrDamaged
			}
			at, size, ok := s.next(byField[f], &end)
			if !ok {
				return ErrDamaged
			}
			if f == field {
				into[j] = Part{f, at, size}
			}
		}
	}
	return nil
}

// partsOfOneShape is Parts where all samples have the same fields, one after the other in
// the file: nearly always.
func (s *Segment) partsOfOneShape(end int64, columns []column, k int, into []Part) ([]Part, error) {
	shape := s.shapes[0]
	var room [8]int
	in := room[:0] // the columns, in the order of the fields
	for _, f := range shape {
		n := slices.IndexFunc(columns, func(c column) bool { return c.field == f })
		if n < 0 || k >= columns[n].count {
			return into, ErrDamaged
		}
		in = append(in, n)
	}
	for j := range k {
		for _, n := range in {
			c := &columns[n]
			end = (end+s.align-1)&^(s.align-1) + c.gaps.at(j) + c.lens.at(j)
		}
	}
	for n, f := range shape {
		c := &columns[in[n]]
		at, size := (end+s.align-1)&^(s.align-1)+c.gaps.at(k), c.lens.at(k)
		if at < 0 || size < 0 || at > math.MaxInt64-size-(1<<20) {
			return into, ErrDamaged
		}
		into = append(into, Part{f, at, size})
		end = at + size
	}
	return into, nil
}

// next returns the next part of a column.
func (s *Segment) next(l *column, end *int64) (at, size int64, ok bool) {
	if s.columns {
		end = &l.end
	}
	if l.next >= l.count {
		return 0, 0, false
	}
	at = (*end+s.align-1)&^(s.align-1) + l.gaps.at(l.next)
	size = l.lens.at(l.next)
	l.next++
	if at < 0 || size < 0 || at > math.MaxInt64-size-(1<<20) {
		return 0, 0, false
	}
	*end = at + size
	return at, size, true
}

// numbers finds the numbers of a group.
func (s *Segment) numbers(i int) (c cursor, k, n int, err error) {
	if c, k, n, err = s.group(i); err == nil {
		var room [8]column
		s.columnsOf(&c, n, room[:0])
	}
	return c, k, n, err
}

// Int returns number f of a sample, of those in Ints.
func (s *Segment) Int(i, f int) (int64, error) {
	c, k, n, err := s.numbers(i)
	var p packed
	for range f + 1 {
		p = c.packed(n)
	}
	if err != nil || c.bad {
		return 0, ErrDamaged
	}
	return p.at(k), nil
}

// None tells whether a sample has none of number f of Ints.
func (s *Segment) None(i, f int) (bool, error) { return s.none(i, f) }

// NoFloat is None of those of Floats.
func (s *Segment) NoFloat(i, f int) (bool, error) { return s.none(i, len(s.Ints)+f) }

func (s *Segment) none(i, f int) (bool, error) {
	k := slices.Index(s.absent, f)
	if k < 0 {
		return false, nil
	}
	v, err := s.Int(i, len(s.Ints)+k)
	return v != 0, err
}

// Has tells whether a sample has a part or a number of a name.
func (s *Segment) Has(i int, name string) bool {
	of := func(n Number) bool { return n.Name == name }
	if f := slices.IndexFunc(s.Ints, of); f >= 0 {
		none, err := s.None(i, f)
		return err == nil && !none
	}
	if f := slices.IndexFunc(s.Floats, of); f >= 0 {
		none, err := s.NoFloat(i, f)
		return err == nil && !none
	}
	parts, err := s.Parts(i, nil)
	return err == nil && slices.ContainsFunc(parts, func(p Part) bool { return s.Fields[p.Field].Name == name })
}

// Float returns number f of a sample, of those in Floats.
func (s *Segment) Float(i, f int) (float64, error) {
	c, k, n, err := s.numbers(i)
	for range len(s.Ints) + len(s.absent) {
		c.packed(n)
	}
	c.bytes(8*n*f + 8*k)
	b := c.bytes(8)
	if err != nil || c.bad {
		return 0, ErrDamaged
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b)), nil
}

// Key appends the key of a sample.
func (s *Segment) Key(i int, into []byte) ([]byte, error) {
	c, k, n, err := s.numbers(i)
	for range len(s.Ints) + len(s.absent) {
		c.packed(n)
	}
	c.bytes(8 * n * len(s.Floats))
	length := c.varint()
	alphabet := c.bytes(1)
	if err != nil || c.bad || alphabet[0] > raw {
		return into, ErrDamaged
	}
	if length == 0 {
		return into, nil
	}
	begin := len(into)
	for j := range k + 1 {
		same := 0
		if j > 0 {
			same = int(min(c.uvarint(), math.MaxInt32))
		}
		rest := int(length) - same
		if length < 0 {
			rest = int(min(c.uvarint(), math.MaxInt32))
		}
		if same > len(into)-begin || rest < 0 || rest > 2*len(c.b) {
			return into[:begin], ErrDamaged
		}
		into = into[:begin+same]
		if j == 0 || alphabet[0] == raw {
			into = append(into, c.bytes(rest)...)
			continue
		}
		letters := alphabets[alphabet[0]]
		for n, two := range c.bytes((rest + 1) / 2) {
			if into = append(into, letters[two&15]); 2*n+1 < rest {
				into = append(into, letters[two>>4])
			}
		}
	}
	if c.bad {
		return into[:begin], ErrDamaged
	}
	return into, nil
}

// Blocks is how many blocks there are.
func (s *Segment) Blocks() int { return s.blocks }

// Covering appends the blocks that hold a range of the unpacked bytes, with the number of
// the first, and where in it the range begins.
func (s *Segment) Covering(at, size int64, into []Block) (all []Block, first int, skip int64, err error) {
	groups := groupsOf(s.blocks)
	g := sort.Search(groups, func(g int) bool { return s.unpackedBefore(g) > at }) - 1
	if g < 0 || at < 0 || size < 0 {
		return into, 0, 0, ErrDamaged
	}
	begin, before := len(into), s.unpackedBefore(g)
	for ; g < groups; g++ {
		all, err := s.blockGroup(g)
		if err != nil {
			return into, 0, 0, err
		}
		for j := range all.n {
			k, ok := all.next(j)
			if !ok || before > math.MaxInt64-k.Size {
				return into, 0, 0, ErrDamaged
			}
			if before+k.Size > at || size == 0 && before == at {
				if len(into) == begin {
					first, skip = g*groupSize+j, at-before
				}
				into = append(into, k)
				if before+k.Size-at >= size {
					return into, first, skip, nil
				}
			}
			before += k.Size
		}
	}
	if size == 0 {
		return into, 0, 0, nil
	}
	return into, 0, 0, ErrDamaged
}

// Before returns the last block before one of which is reports true, and its number.
func (s *Segment) Before(number int, is func(Block) bool) (last Block, at int, err error) {
	at = -1
	for g := (number - 1) / groupSize; g >= 0 && at < 0; g-- {
		all, err := s.blockGroup(g)
		if err != nil {
			return Block{}, 0, err
		}
		for j := range min(all.n, number-g*groupSize) {
			k, ok := all.next(j)
			if !ok {
				return Block{}, 0, ErrDamaged
			}
			if is(k) {
				last, at = k, g*groupSize+j
			}
		}
	}
	if at < 0 {
		return Block{}, 0, ErrDamaged
	}
	return last, at, nil
}

// blockGroup is groupSize blocks, which are unpacked one after the other.
type blockGroup struct {
	n                         int
	end                       int64 // of the block before
	gaps, lens, sizes, codecs packed
}

func (s *Segment) blockGroup(g int) (b blockGroup, err error) {
	from := binary.LittleEndian.Uint64(s.blockTable[16*g:])
	if from > uint64(len(s.data)) {
		return b, ErrDamaged
	}
	c := cursor{b: s.data[from:]}
	b.n = min(groupSize, s.blocks-g*groupSize)
	b.end = c.varint()
	b.gaps, b.lens, b.sizes, b.codecs = c.packed(b.n), c.packed(b.n), c.packed(b.n), c.packed(b.n)
	if c.bad {
		return b, ErrDamaged
	}
	return b, nil
}

// next returns block j, after the one before it.
func (b *blockGroup) next(j int) (k Block, ok bool) {
	k = Block{At: b.end + b.gaps.at(j), Len: b.lens.at(j), Size: b.sizes.at(j), Codec: uint64(b.codecs.at(j))}
	if k.At < 0 || k.Len < 0 || k.Size < 0 || k.At > math.MaxInt64-k.Len {
		return k, false
	}
	b.end = k.At + k.Len
	return k, true
}

func (s *Segment) unpackedBefore(g int) int64 {
	return int64(binary.LittleEndian.Uint64(s.blockTable[16*g+8:]))
}
