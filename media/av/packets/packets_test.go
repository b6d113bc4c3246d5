package packets

import (
	"bytes"
	"errors"
	"hash/crc32"
	"reflect"
	"testing"

	"github.com/headrace/headrace/media/av"
)

func some() *File {
	return &File{
		Format: "mov",
		Streams: []Stream{
			{Stream: av.Stream{Kind: av.Video, Codec: "h264", Config: []byte{1, 2}, TimeBase: av.Rational{Num: 1, Den: 25}, Width: 4, Height: 2, Orientation: av.Rotate90}, Reorder: 2, Start: NoTime},
			{Stream: av.Stream{Index: 1, Kind: av.Audio, Codec: "aac", TimeBase: av.Rational{Num: 1, Den: 48000}, Rate: 48000, Channels: 2, Language: "deu"}, Padding: 1024},
		},
		Packets: []Packet{
			{PTS: -1, DTS: NoTime, Duration: 1, Key: true, Data: []byte("first")},
			{Stream: 1, PTS: 7, DTS: 7, Discard: true, Skip: 312, Cut: 9, Data: []byte("second"), Side: []byte("name\x00\x01\x00\x00\x00x")},
			{Data: []byte{}, Side: []byte{}},
		},
	}
}

func written(t testing.TB) []byte {
	t.Helper()
	b, err := some().Append([]byte("before"))
	if err != nil {
		t.Fatal(err)
	}
	return b[len("before"):]
}

func TestPacketsComeBack(t *testing.T) {
	got, err := Parse(written(t))
	if err != nil {
		t.Fatal(err)
	}
	want := some()
	want.Packets[0].Side = []byte{}
	want.Streams[1].Config = nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\n%+v", got, want)
	}
}

// Every bit counts.
func TestDamageIsFound(t *testing.T) {
	good := written(t)
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1 << (i % 8)
		if i >= 56 && i < head { // which nobody reads
			continue
		}
		if _, err := Parse(bad); !errors.Is(err, ErrFormat) {
			t.Errorf("byte %d: %v", i, err)
		}
		if _, err := Parse(good[:i]); !errors.Is(err, ErrFormat) {
			t.Errorf("%d bytes: %v", i, err)
		}
	}
	if Probe([]byte("HRPKTS")) || Probe(bytes.Repeat([]byte("x"), 99)) {
		t.Error("other bytes are taken for packets")
	}
}

// sealed makes checksums right, so that what they would find is found otherwise.
func sealed(b []byte) []byte {
	if len(b) < head {
		return b
	}
	text := min(le.Uint64(b[16:]), uint64(len(b)-head))
	rows := min(le.Uint64(b[24:]), (uint64(len(b)-head)-text)/row)
	for i, part := range [][]byte{b[head:][:text], b[head+text:][:rows*row], b[head+text+rows*row:]} {
		le.PutUint32(b[40+4*i:], crc32.Checksum(part, castagnoli))
	}
	le.PutUint32(b[52:], crc32.Checksum(b[:52], castagnoli))
	return b
}

func TestLiesAreFound(t *testing.T) {
	table := head + int(le.Uint64(written(t)[16:]))
	for name, lie := range map[string]func(b []byte){
		"a version":    func(b []byte) { b[8] = 2 },
		"a long text":  func(b []byte) { le.PutUint64(b[16:], 1<<63) },
		"many packets": func(b []byte) { le.PutUint64(b[24:], 1<<60) },
		"much data":    func(b []byte) { le.PutUint64(b[32:], 1<<60) },
		"no JSON":      func(b []byte) { b[head] = '[' },
		"an offset":    func(b []byte) { le.PutUint64(b[table:], 1<<62) },
		"a size":       func(b []byte) { le.PutUint32(b[table+32:], 1<<31-1) },
		"side data":    func(b []byte) { le.PutUint32(b[table+36:], 1<<32-1) },
		"a stream":     func(b []byte) { le.PutUint32(b[table+40:], 2) },
		"a negative width": func(b []byte) {
			copy(b[bytes.Index(b, []byte(`"Width":4`)):], `"Width":-`)
			b[bytes.Index(b, []byte(`"Width":-`))+9] = '4'
		},
		"a time base": func(b []byte) { b[bytes.Index(b, []byte(`"Den":25`))+6] = '-' },
	} {
		b := written(t)
		lie(b)
		if _, err := Parse(sealed(b)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(written(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := Parse(sealed(bytes.Clone(b)))
		if err != nil {
			return
		}
		again, err := file.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(again); err != nil {
			t.Errorf("what was written is not read: %v", err)
		}
	})
}
