package message

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"headrace/sample"
	"headrace/tensor"
	"headrace/wire"
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
)

// The flags of RESULTS.
const (
	lastResults = 1 << iota
	withFields
	returned
)

// packCalls is how many calls a pack has at most.
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
	inData  = iota // at that offset of the data
	InRoom         // in the memory that it was given
	IsSame         // it is the input of that number
	InWhole        // at that offset of the memory for all arrays
)

// The states of a sample in RESULTS. Above their bits is how long the worker worked for
// it, in nanoseconds.
const (
	itemDone = iota
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

// mostFields is how many fields a sample may have.
const MostFields = 4096

// fields is a schema as messages have it.
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

// fits tells whether an array's shape is of a type's.
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

// field is one of a schema in a message.
type Field struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	DType string `json:"dtype,omitempty"`
	Shape []int  `json:"shape,omitempty"`
}

// results is a RESULTS message that was looked through: every place in it is within the
// message.
type Results struct {
	First, N int
	Last     bool
	Returned bool // those after the one in work are not begun: they go back
	words    []byte
	Data     []byte
	Schema   sample.Schema
	Names    []string // where the message itself says what the fields are
	Tuple    []string // of a sample that is a tuple: names that its values could have; nil: it is none
	columns  []resultColumn
	failures []failure
	State    []byte
	Rest     time.Duration   // of work for no sample of the message
	links    int             // word where the counts of a chain's functions begin
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
	Tuple    []string   `json:"tuple"`
}

func (r *Results) word(at int) int64 { return int64(binary.LittleEndian.Uint64(r.words[8*at:])) }

// Status is that of the i-th sample.
func (r *Results) Status(i int) int64 { return r.word(resultsHead+i) & (1<<tookShift - 1) }

// Took is how long a worker worked for the i-th sample.
func (r *Results) Took(i int) time.Duration {
	return time.Duration(r.word(resultsHead+i) >> tookShift)
}

// Link is how often the i-th function of a chain was called since the RESULTS before, and
// how long that took.
func (r *Results) Link(i int) (calls int64, took time.Duration) {
	return r.word(r.links + 2*i), time.Duration(r.word(r.links + 2*i + 1))
}

// failure is that of a sample; nil: it says none.
func (r *Results) Failure(item int) *CallError {
	for i := range r.failures {
		if r.failures[i].Item == item {
			return &r.failures[i].CallError
		}
	}
	return nil
}

// value says where the i-th value of a field is, and how large.
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

// parseResults looks through a message from a worker. Errors are [wire.ErrProtocol].
// Links is how many functions a chain has, or 0.
func ParseResults(payload []byte, gives sample.Schema, links int) (*Results, error) {
	bad := func(format string, args ...any) (*Results, error) {
		return nil, fmt.Errorf("%w: RESULTS %s", wire.ErrProtocol, fmt.Sprintf(format, args...))
	}

	if len(payload) < 8*resultsHead {
		return bad("of %d bytes", len(payload))
	}

	r := &Results{words: payload, Schema: gives}
	first, n, flags, tailBytes, dataAt := r.word(0), r.word(1), r.word(2), r.word(3), r.word(4)
	r.Rest = time.Duration(r.word(5))

	if first < 0 || first > math.MaxUint32 || n < 0 || n > 4*MostCalls || flags < 0 || flags > lastResults|withFields|returned || flags&lastResults != 0 && flags&returned != 0 {
		return bad("with %d samples from %d on, flags %#x", n, first, flags)
	}
	if r.Rest < 0 || r.Rest > mostTook {
		return bad("of %v of work", r.Rest)
	}
	if dataAt < 8*resultsHead || tailBytes < 0 || dataAt > int64(len(payload)) || tailBytes > int64(len(payload))-dataAt || dataAt%8 != 0 {
		return bad("whose parts are not in it")
	}

	r.First, r.N, r.Last, r.Returned = int(first), int(n), flags&lastResults != 0, flags&returned != 0
	r.words, r.Data = payload[:dataAt], payload[dataAt:int64(len(payload))-tailBytes]

	if text := payload[int64(len(payload))-tailBytes:]; len(text) > 0 {
		var t tail
		if err := json.Unmarshal(text, &t); err != nil {
			return bad("with a tail that is not JSON: %v", err)
		}
		r.failures = t.Failures
		if t.State != nil {
			r.State = []byte(*t.State)
		}
		if flags&withFields != 0 {
			var err error
			if r.Schema, err = schema(t.Fields); err != nil {
				return bad("with fields that are none: %v", err)
			}
			r.Names, r.Tuple = r.Schema.Names(), t.Tuple
			if len(r.Tuple) > MostFields {
				return bad("of a tuple of %d values", len(r.Tuple))
			}
			if r.Found, err = found(t.Found); err != nil || len(r.Found) > links {
				return bad("with fields of %d functions: %v", len(r.Found), err)
			}
		}
	}

	left := int(dataAt)/8 - resultsHead
	at := resultsHead
	take := func(words int) bool {
		if words < 0 || words > left {
			return false
		}
		left -= words
		at += words
		return true
	}

	if !take(r.N) {
		return bad("with %d samples in %d bytes", n, len(payload))
	}
	for i := range r.N {
		if s := r.Status(i); s > ItemDropped {
			return bad("with a sample of state %d", s)
		}
		if d := r.Took(i); d < 0 || d > mostTook {
			return bad("with a sample that took %v", d)
		}
	}

	r.links = at
	if !take(2 * links) {
		return bad("without counts of %d functions", links)
	}
	for i := range links {
		if calls, took := r.Link(i); calls < 0 || calls > 4*MostCalls || took < 0 || took > mostTook {
			return bad("with %d calls of %v", calls, took)
		}
	}

	if r.N == 0 {
		return r, nil
	}
	for f, one := range r.Schema {
		if !take(1) {
			return bad("without field %d", f)
		}

		c := resultColumn{mode: int(r.word(at - 1)), at: at, stride: 2}
		if one.Type.Kind == sample.Tensor {
			c.stride = 1 + len(one.Type.Shape)
		}

		words := c.stride
		switch c.mode {
		case Apart:
			words *= r.N
		case InRows:
			if one.Type.Kind != sample.Tensor {
				return bad("with rows of %v", one.Type)
			}
		case allSame:
			words = 1
		default:
			return bad("with a column of mode %d", c.mode)
		}

		if !take(words) {
			return bad("whose field %d ends too soon", f)
		}
		r.columns = append(r.columns, c)
		if err := r.checkColumn(f); err != nil {
			return bad("whose field %q %v", one.Name, err)
		}
	}
	return r, nil
}

func (r *Results) checkColumn(f int) error {
	t, c := r.Schema[f].Type, r.columns[f]
	if c.mode == allSame {
		return nil
	}

	for i := range r.N {
		if c.mode == InRows && i > 0 {
			break
		}
		if c.mode == Apart && r.Status(i) != itemDone {
			continue
		}

		record := c.at
		if c.mode == Apart {
			record += i * c.stride
		}
		place := uint64(r.word(record))
		where, at := place>>PlaceBits, place&placeOffset
		if where == IsSame && c.mode == Apart {
			continue
		}
		if where > InWhole || where != inData && c.mode == InRows {
			return fmt.Errorf("is at %#x", place)
		}

		bytes := r.word(record + 1*min(1, c.stride-1))
		if t.Kind == sample.Tensor {
			shape := make(tensor.Shape, 0, 8)
			for axis, want := range t.Shape {
				n := r.word(record + 1 + axis)
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
		if c.mode == InRows {
			if bytes > int64(len(r.Data)) {
				return fmt.Errorf("has %d bytes for each sample, in %d", bytes, len(r.Data))
			}
			bytes *= int64(r.N)
		}
		if where == inData && (at > uint64(len(r.Data)) || uint64(bytes) > uint64(len(r.Data))-at) {
			return fmt.Errorf("has %d bytes at %d, in %d", bytes, at, len(r.Data))
		}
	}
	return nil
}

// found are what a worker says the functions of a chain give.
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

// schema is what a worker says of fields that it has found.
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
