package message

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
	"github.com/headrace/headrace/wire"
)

// The flags of PACK.
const (
	WithRandom = 1 << iota
	WithIndex
	AsStream
	AsFlush
	WithState
	OwnShared // what is passed by its place is the sample's own, and can be changed: it must not be done again
	AsFresh
	WithEpoch
	AsRun // there are only the numbers of samples, and if the worker dies they are called for one by one
)

// The flags of RESULTS.
const (
	lastResults = 1 << iota
	withFields
	returned
)

// Above the flags of RESULTS that return samples is how many there are in work beside
// one.
const inWorkShift = 8

// MostCalls is the largest number of calls in a pack.
const MostCalls = 64

// A place is a word: the number of a space above an offset in it.
const (
	PlaceBits   = 48
	placeOffset = 1<<PlaceBits - 1
)

// How a column is written.
const (
	Apart     = iota // a place and extents for each sample
	InRows           // one place and extents: the samples are one after the other
	allSame          // RESULTS: all are the input of that number
	OwnMemory = 4    // PACK, added to general: each is the sample's own memory
)

// Where a value of RESULTS is.
const (
	InData  = iota // at that offset of the data
	InRoom         // in the memory that it was given
	IsSame         // it is the input of that number
	InWhole        // at that offset of the memory for all arrays
)

// The states of a sample in RESULTS. Above their bits is how long the worker worked for
// it, in nanoseconds.
const (
	ItemDone = iota
	ItemFailed
	ItemDropped

	tookShift = 2
	mostTook  = 1 << 50 // two weeks
)

const (
	PackHead    = 8 // words
	resultsHead = 6
)

const mostDims = 64

// MostFields is the largest number of fields of a sample.
const MostFields = 4096

// FieldsOf returns a schema in the form used by messages.
func FieldsOf(s sample.Schema) []Field {
	if s == nil {
		return nil
	}
	all := []Field{}
	for _, f := range s {
		one := Field{Name: f.Name, Kind: f.Type.Kind.String()}
		if f.Type.Kind == sample.Tensor {
			one.DType = f.Type.DType.String()
		}
		if f.Type.Shape != nil || f.Type.Kind == sample.Tensor {
			one.Shape = append([]int{}, f.Type.Shape...)
		}
		all = append(all, one)
	}
	return all
}

// Fits reports whether an array's shape matches a type's.
func Fits(shape, of tensor.Shape) bool {
	if len(shape) != len(of) {
		return false
	}
	for axis, n := range of {
		if n != tensor.Unknown && shape[axis] != n {
			return false
		}
	}
	return true
}

// Field is a field of a schema in a message.
type Field struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	DType string `json:"dtype,omitempty"`
	Shape []int  `json:"shape,omitempty"`
}

// Results is a RESULTS message that has been checked: every offset is within the message.
type Results struct {
	First, N int
	Last     bool
	Returned bool // those after the ones in work are not begun: they go back
	InWork   int  // Returned: so many are in work
	words    []byte
	Data     []byte
	Schema   sample.Schema
	Names    []string      // where the message itself says what the fields are
	Unnamed  string        // of a sample whose values have no fields: what to write; empty: it is none
	Tuple    sample.Schema // of a sample that is a tuple: its values; nil: it is none
	columns  []resultColumn
	failures []failure
	State    []byte
	Rest     time.Duration   // of work for no sample of the message
	counts   int             // word where the counts of a chain's functions begin
	Found    []sample.Schema // of a chain, where the message says what the fields are: what each function gives; nil of a filter
}

type resultColumn struct {
	mode   int
	at     int // word where it begins, after its mode
	stride int // words for each sample
}

type failure struct {
	Item int `json:"item"`
	CallError
}

type tail struct {
	Failures []failure  `json:"failures"`
	Fields   []Field    `json:"fields"`
	State    *string    `json:"state"`
	Found    []*[]Field `json:"found"`
	Unnamed  string     `json:"unnamed"`
	Tuple    []Field    `json:"tuple"`
}

func (r *Results) word(at int) int64 { return int64(binary.LittleEndian.Uint64(r.words[8*at:])) }

// Status returns the state of the i-th sample.
func (r *Results) Status(i int) int64 { return r.word(resultsHead+i) & (1<<tookShift - 1) }

// Took returns the time that a worker spent on the i-th sample.
func (r *Results) Took(i int) time.Duration {
	return time.Duration(r.word(resultsHead+i) >> tookShift)
}

// ChainCounts returns the number of calls of a chain's i-th function since the last
// RESULTS, and the time they took.
func (r *Results) ChainCounts(i int) (calls int64, took time.Duration) {
	return r.word(r.counts + 2*i), time.Duration(r.word(r.counts + 2*i + 1))
}

// Failure returns the exception of a sample, or nil if there is none.
func (r *Results) Failure(item int) *CallError {
	for i := range r.failures {
		if r.failures[i].Item == item {
			return &r.failures[i].CallError
		}
	}
	return nil
}

// Value returns the place, shape and size of a field's i-th value.
func (r *Results) Value(f, i int) (where int, at int64, shape tensor.Shape, bytes int64) {
	t, c := r.Schema[f].Type, r.columns[f]
	if c.mode == allSame {
		return IsSame, r.word(c.at), nil, 0
	}

	record := c.at
	if c.mode == Apart {
		record += i * c.stride
	}
	place := uint64(r.word(record))
	where, at = int(place>>PlaceBits), int64(place&placeOffset)

	if t.Kind != sample.Tensor {
		return where, at, t.Shape, r.word(record + 1)
	}
	shape = t.Shape
	if !t.Fixed() {
		shape = make(tensor.Shape, len(t.Shape))
		for axis := range shape {
			shape[axis] = int(r.word(record + 1 + axis))
		}
	}

	bytes, _ = shape.Bytes(t.DType)
	if c.mode == InRows {
		at += int64(i) * bytes
	}
	return where, at, shape, bytes
}

// Block returns the values of a field of all samples, where these are one after the
// other; nil: they are apart.
func (r *Results) Block(f int) []byte {
	if r.N == 0 || r.columns[f].mode != InRows {
		return nil
	}
	_, at, _, bytes := r.Value(f, 0)
	return r.Data[at:][:int64(r.N)*bytes]
}

// ParseResults parses and checks a message from a worker, for a chain of that many
// functions or 0. Its errors are [wire.ErrProtocol].
func ParseResults(payload []byte, gives sample.Schema, functions int) (*Results, error) {
	p := parser{Results: &Results{words: payload, Schema: gives}, at: resultsHead}
	tail, err := p.head(payload)
	if err == nil {
		err = p.tail(tail, functions)
	}
	if err == nil {
		err = p.samples(len(payload))
	}
	if err == nil {
		err = p.chain(functions)
	}
	if err == nil && p.N > 0 {
		err = p.fields()
	}
	if err != nil {
		return nil, err
	}
	return p.Results, nil
}

// parser takes the words of a RESULTS message one after the other.
type parser struct {
	*Results
	named bool // the tail has the fields
	at    int  // the next word
	left  int  // words from there on
}

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: RESULTS %s", wire.ErrProtocol, fmt.Sprintf(format, args...))
}

// take skips words, and reports whether there are that many.
func (p *parser) take(words int) bool {
	if words < 0 || words > p.left {
		return false
	}
	p.left -= words
	p.at += words
	return true
}

// head parses the first words, and cuts the message into words, data and tail.
func (p *parser) head(payload []byte) (tail []byte, err error) {
	if len(payload) < 8*resultsHead {
		return nil, bad("of %d bytes", len(payload))
	}

	first, n, flags, tailBytes, dataAt := p.word(0), p.word(1), p.word(2), p.word(3), p.word(4)
	p.Rest = time.Duration(p.word(5))

	p.Last, p.Returned, p.named = flags&lastResults != 0, flags&returned != 0, flags&withFields != 0
	p.InWork = 1
	if more := flags >> inWorkShift; p.Returned && more > 0 && more < 4*MostCalls {
		p.InWork += int(more)
		flags -= more << inWorkShift
	}
	knownFlags := flags >= 0 && flags <= lastResults|withFields|returned
	validFirst := first >= 0 && first <= math.MaxUint32
	validCount := n >= 0 && n <= 4*MostCalls
	contradiction := p.Last && p.Returned // after the last results there are no samples to return
	if !validFirst || !validCount || !knownFlags || contradiction {
		return nil, bad("with %d samples from %d on, flags %#x", n, first, flags)
	}
	p.First, p.N = int(first), int(n)

	if p.Rest < 0 || p.Rest > mostTook {
		return nil, bad("of %v of work", p.Rest)
	}

	size := int64(len(payload))
	wholeWords := dataAt >= 8*resultsHead && dataAt%8 == 0
	inside := dataAt <= size && tailBytes >= 0 && tailBytes <= size-dataAt
	if !wholeWords || !inside {
		return nil, bad("whose parts are not in it")
	}
	p.words, p.Data = payload[:dataAt], payload[dataAt:size-tailBytes]
	p.left = int(dataAt)/8 - resultsHead
	return payload[size-tailBytes:], nil
}

// tail parses the JSON at the end: failures, the object's state, and the fields if they
// were not known before.
func (p *parser) tail(text []byte, functions int) error {
	if len(text) == 0 {
		return nil
	}
	var t tail
	if err := json.Unmarshal(text, &t); err != nil {
		return bad("with a tail that is not JSON: %v", err)
	}
	p.failures = t.Failures
	if t.State != nil {
		p.State = []byte(*t.State)
	}

	if !p.named {
		return nil
	}
	var err error
	if p.Schema, err = schema(t.Fields); err != nil {
		return bad("with fields that are none: %v", err)
	}
	p.Names, p.Unnamed = p.Schema.Names(), t.Unnamed
	if t.Tuple != nil {
		if p.Tuple, err = schema(t.Tuple); err != nil {
			return bad("with a tuple of no fields: %v", err)
		}
	}
	if p.Found, err = found(t.Found); err != nil || len(p.Found) > functions {
		return bad("with fields of %d functions: %v", len(p.Found), err)
	}
	return nil
}

// samples checks the words about each sample.
func (p *parser) samples(size int) error {
	if !p.take(p.N) {
		return bad("with %d samples in %d bytes", p.N, size)
	}
	for i := range p.N {
		if s := p.Status(i); s > ItemDropped {
			return bad("with a sample of state %d", s)
		}
		if d := p.Took(i); d < 0 || d > mostTook {
			return bad("with a sample that took %v", d)
		}
	}
	return nil
}

// chain checks the counts of a chain's functions.
func (p *parser) chain(functions int) error {
	p.counts = p.at
	if !p.take(2 * functions) {
		return bad("without counts of %d functions", functions)
	}
	for i := range functions {
		calls, took := p.ChainCounts(i)
		validCalls := calls >= 0 && calls <= 4*MostCalls
		validTime := took >= 0 && took <= mostTook
		if !validCalls || !validTime {
			return bad("with %d calls of %v", calls, took)
		}
	}
	return nil
}

// fields parses a column for each field.
func (p *parser) fields() error {
	for f, one := range p.Schema {
		if !p.take(1) {
			return bad("without field %d", f)
		}

		c := resultColumn{mode: int(p.word(p.at - 1)), at: p.at, stride: 2}
		if one.Type.Kind == sample.Tensor {
			c.stride = 1 + len(one.Type.Shape)
		}

		words := c.stride
		switch c.mode {
		case Apart:
			words *= p.N
		case InRows:
			if one.Type.Kind != sample.Tensor {
				return bad("with rows of %v", one.Type)
			}
		case allSame:
			words = 1
		default:
			return bad("with a column of mode %d", c.mode)
		}

		if !p.take(words) {
			return bad("whose field %d ends too soon", f)
		}
		p.columns = append(p.columns, c)
		if err := p.checkColumn(f); err != nil {
			return bad("whose field %q %v", one.Name, err)
		}
	}
	return nil
}

// checkColumn checks that every value of a field is within the message.
func (r *Results) checkColumn(f int) error {
	c := r.columns[f]
	switch c.mode {
	case allSame:
		return nil
	case InRows: // one entry for all samples
		return r.checkValue(f, c.at)
	}
	for i := range r.N {
		if r.Status(i) != ItemDone {
			continue
		}
		if err := r.checkValue(f, c.at+i*c.stride); err != nil {
			return err
		}
	}
	return nil
}

// checkValue checks the entry of a column that begins at a word.
func (r *Results) checkValue(f, entry int) error {
	t, c := r.Schema[f].Type, r.columns[f]
	place := uint64(r.word(entry))
	where, at := place>>PlaceBits, place&placeOffset
	rows := c.mode == InRows
	if where == IsSame && !rows {
		return nil
	}
	if where > InWhole || rows && where != InData {
		return fmt.Errorf("is at %#x", place)
	}

	bytes := r.word(entry + min(1, c.stride-1))
	if t.Kind == sample.Tensor {
		shape := make(tensor.Shape, 0, 8)
		for axis, want := range t.Shape {
			n := r.word(entry + 1 + axis)
			if n < 0 || want != tensor.Unknown && n != int64(want) {
				return fmt.Errorf("has extent %d on axis %d and is %v", n, axis, t)
			}
			shape = append(shape, int(n))
		}
		var err error
		if bytes, err = shape.Bytes(t.DType); err != nil {
			return err
		}
	}

	if bytes < 0 {
		return fmt.Errorf("has %d bytes", bytes)
	}
	if rows {
		if bytes > int64(len(r.Data)) {
			return fmt.Errorf("has %d bytes for each sample, in %d", bytes, len(r.Data))
		}
		bytes *= int64(r.N)
	}
	// Subtracted, since a sum of the worker's numbers could overflow.
	outside := at > uint64(len(r.Data)) || uint64(bytes) > uint64(len(r.Data))-at
	if where == InData && outside {
		return fmt.Errorf("has %d bytes at %d, in %d", bytes, at, len(r.Data))
	}
	return nil
}

// found converts the schemas that a worker reports for the functions of a chain.
func found(all []*[]Field) (schemas []sample.Schema, err error) {
	for _, fields := range all {
		if fields == nil {
			schemas = append(schemas, nil)
			continue
		}
		s, err := schema(*fields)
		if err != nil {
			return nil, err
		}
		schemas = append(schemas, s)
	}
	return schemas, nil
}

// schema converts the fields that a worker reports, and checks them.
func schema(all []Field) (sample.Schema, error) {
	if len(all) > MostFields {
		return nil, fmt.Errorf("%d of them", len(all))
	}
	s := sample.Schema{}
	for _, f := range all {
		t := sample.Type{}
		if err := t.Kind.UnmarshalText([]byte(f.Kind)); err != nil {
			return nil, err
		}
		if len(f.Shape) > mostDims {
			return nil, fmt.Errorf("%q has %d axes", f.Name, len(f.Shape))
		}
		if t.Kind != sample.Tensor {
			t.Shape = append(t.Shape, f.Shape...)
		} else {
			d, err := tensor.ParseDType(f.DType)
			if err != nil {
				return nil, err
			}
			t.DType, t.Shape = d, append(tensor.Shape{}, f.Shape...)
		}
		s = append(s, sample.Field{Name: f.Name, Type: t})
	}
	return s, s.Check()
}
