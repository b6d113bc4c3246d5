package index

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// webdataset is what a tar file of images with labels has.
func webdataset(n int) *Builder {
	b := new(Builder)
	r := rand.New(rand.NewPCG(1, uint64(n)))
	at := int64(0)
	add := func(name string, size int64) {
		at += 512
		b.Part([]byte(name), at, size)
		at += (size + 511) &^ 511
	}
	for i := range n {
		b.Sample(fmt.Appendf(nil, "train/n%08d_%d", 1440764+i/50*37, r.IntN(20000)))
		add("jpg", 20_000+r.Int64N(200_000))
		add("cls", 1+r.Int64N(3))
	}
	return b
}

// odd has all that an index can have.
func odd(r *rand.Rand, n int) *Builder {
	b := &Builder{Header: []byte("a header"), Refused: map[string]string{"picture": "no reason"}}
	b.Type("vector", sample.TensorType(tensor.Float32, 3, tensor.Unknown))
	b.Type("caption", sample.TextType)
	b.Type("small", sample.TensorType(tensor.Int8).As(&sample.Logical{Name: "date32[day]"}))
	b.Type("a", sample.TextType.As(&sample.Logical{Name: sample.Dictionary, Names: []string{"x", "", "y"}}))
	b.Type("score", sample.TensorType(tensor.Float32))
	for range r.IntN(400) {
		b.Block(Block{r.Int64N(1 << 40), r.Int64N(1 << 20), r.Int64N(1 << 16), r.Uint64N(1 << 42)})
	}
	fields := []string{"vector", "caption", "x", "", "json", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"}
	for i := range n {
		var key []byte
		if r.IntN(10) > 0 {
			key = fmt.Appendf(nil, "%0*d", r.IntN(30), r.Int64N(1<<30))
		}
		b.Sample(key)
		r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		for _, name := range fields[:r.IntN(len(fields))] {
			b.Part([]byte(name), r.Int64N(1<<r.IntN(62)+1), r.Int64N(1<<r.IntN(40)+1))
		}
		if i%3 == 0 {
			b.Int("label", r.Int64()-r.Int64())
		}
		if r.IntN(2) == 0 {
			b.Int("small", int64(r.IntN(200)-100))
		} else {
			b.None("small")
		}
		if i%5 == 0 {
			b.Float("score", r.NormFloat64())
		} else if i%7 == 0 {
			b.NoFloat("score")
		}
	}
	return b
}

func compare(t *testing.T, b *Builder, s *Segment) {
	t.Helper()
	if s.Len() != b.Len() || s.Blocks() != len(b.Blocks) || string(s.Header) != string(b.Header) || len(s.Refused) != len(b.Refused) {
		t.Fatalf("%d samples and %d blocks, want %d and %d", s.Len(), s.Blocks(), b.Len(), len(b.Blocks))
	}
	for _, i := range rand.Perm(b.Len()) {
		key, parts := b.Of(i)
		if got, err := s.Key(i, nil); err != nil || string(got) != string(key) {
			t.Fatalf("sample %d: key %q, want %q: %v", i, got, key, err)
		}
		if got, err := s.Parts(i, nil); err != nil || !slices.Equal(got, parts) {
			t.Fatalf("sample %d: %v, want %v: %v", i, got, parts, err)
		}
		for k, number := range s.Ints {
			name := number.Name
			if !number.Logical.Equal(b.Types[name].Logical) {
				t.Fatalf("%v stands for %v, want %v", number, number.Logical, b.Types[name].Logical)
			}
			none, err := s.None(i, k)
			if want := slices.Contains(b.Absent[name], int64(i)); err != nil || none != want || b.Types[name].Kind != 0 && number.DType != b.Types[name].DType {
				t.Fatalf("sample %d: %v %v, want %v: %v", i, number, none, want, err)
			}
			want := int64(0)
			if i < len(b.Ints[name]) {
				want = b.Ints[name][i]
			}
			if got, err := s.Int(i, k); err != nil || got != want {
				t.Fatalf("sample %d: %d, want %d: %v", i, got, want, err)
			}
		}
		for k, number := range s.Floats {
			name := number.Name
			want := 0.0
			if i < len(b.Floats[name]) {
				want = b.Floats[name][i]
			}
			if got, err := s.Float(i, k); err != nil || got != want && (got == got || want == want) {
				t.Fatalf("sample %d: %v, want %v: %v", i, got, want, err)
			}
			none, err := s.NoFloat(i, k)
			if want := slices.Contains(b.Absent[name], int64(i)); err != nil || none != want {
				t.Fatalf("sample %d: %v %v, want %v: %v", i, number, none, want, err)
			}
		}
	}
	at := int64(0)
	for i, k := range b.Blocks {
		if k.Size > 0 {
			got, first, skip, err := s.Covering(at+k.Size-1, 1, nil)
			if err != nil || first != i || skip != k.Size-1 || len(got) != 1 || got[0] != k {
				t.Fatalf("block %d: %v, the %dth, from %d on, want %v: %v", i, got, first, skip, k, err)
			}
		}
		at += k.Size
	}
	if len(b.Blocks) > 0 {
		got, _, _, err := s.Covering(0, at, nil)
		if n := len(got); err != nil || n > len(b.Blocks) || at > 0 && n == 0 {
			t.Errorf("%d of %d blocks: %v", n, len(b.Blocks), err)
		}
	}
	for i := range b.Blocks {
		even := func(k Block) bool { return k.Codec%2 == 0 }
		want := i - 1
		for want >= 0 && !even(b.Blocks[want]) {
			want--
		}
		if got, at, err := s.Before(i, even); want < 0 && err == nil || want >= 0 && (at != want || got != b.Blocks[want]) {
			t.Fatalf("before %d: block %d, want %d: %v", i, at, want, err)
		}
	}
	for i, f := range s.Fields {
		want := Field{Name: b.Fields[i]}
		for _, p := range b.Parts {
			if p.Field == i {
				want.Samples, want.Bytes, want.Most = want.Samples+1, want.Bytes+p.Len, max(want.Most, p.Len)
			}
		}
		of, typed := b.Types[f.Name]
		if typed != (f.Type != nil) || typed && !f.Type.Equal(of) {
			t.Errorf("%q is %v, want %v", f.Name, f.Type, of)
		}
		if f.Type = nil; f != want {
			t.Errorf("%+v, want %+v", f, want)
		}
	}
}

func TestSegments(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 0))
		b := odd(r, r.IntN(600))
		data := b.Encode()
		s, err := Parse(data)
		if err != nil {
			t.Fatal(seed, err)
		}
		compare(t, b, s)
		if !bytes.Equal(b.Encode(), data) {
			t.Error("other bytes the second time")
		}
	}
}

// An index of WebDataset takes 8 bytes a sample at most, with keys.
func TestSizeOfAnIndex(t *testing.T) {
	b := webdataset(20_000)
	data := b.Encode()
	if each := float64(len(data)) / 20_000; each > 8 {
		t.Errorf("%.2f bytes a sample", each)
	}
	s, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, b, s)
	if allocs := testing.AllocsPerRun(100, func() {
		var room [4]Part
		if _, err := s.Parts(777, room[:0]); err != nil {
			t.Fatal(err)
		}
	}); allocs > 0 {
		t.Errorf("%v allocations to find a sample", allocs)
	}
}

// inFile writes an index of some shards.
func inFile(t testing.TB, all ...*Builder) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "folder", "a"+Suffix)
	err := Write(path, "tar", func(w *Writer) error {
		for i, b := range all {
			if err := w.Add(Shard{Name: fmt.Sprintf("%d.tar", i), Size: int64(1000 * i), Version: fmt.Sprint("v", i)}, b.Encode()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func believed(int) error { return nil }

func TestFiles(t *testing.T) {
	all := []*Builder{webdataset(300), new(Builder), webdataset(1), webdataset(129), odd(rand.New(rand.NewPCG(1, 1)), 50)}
	path := inFile(t, all...)
	x, err := Load(path, believed)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if x.Len() != 480 || x.Format != "tar" || len(x.Shards) != 5 || x.Refused["picture"] != "no reason" {
		t.Fatalf("%+v", x)
	}
	if f := x.Fields[0]; f.Name != "jpg" || f.Samples != 430 {
		t.Errorf("%+v", f)
	}
	for i, b := range all {
		s, err := x.Segment(i)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, b, s)
		if d := x.Shards[i]; d.Name != fmt.Sprintf("%d.tar", i) || d.Size != int64(1000*i) || d.Version != fmt.Sprint("v", i) || d.Samples != int64(b.Len()) {
			t.Errorf("%+v", d)
		}
	}
	for i, want := range map[int64][2]int{0: {0, 0}, 299: {0, 299}, 300: {2, 0}, 301: {3, 0}, 429: {3, 128}, 479: {4, 49}} {
		if shard, in := x.Find(i); shard != want[0] || in != want[1] {
			t.Errorf("sample %d is %d of shard %d", i, in, shard)
		}
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("%v %v", left, err)
	}
	if err := Write(path, "tar", func(*Writer) error { return errors.New("none") }); err == nil {
		t.Error("written")
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%v %v", left, err)
	}
}

// Every byte counts: what is damaged is told when it is loaded, or when it is used.
func TestDamage(t *testing.T) {
	path := inFile(t, webdataset(20), odd(rand.New(rand.NewPCG(2, 2)), 10))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole = slices.Clip(whole)
	use := func(data []byte) error {
		x, err := Read(data)
		if err != nil {
			return err
		}
		for i := range x.Shards {
			if _, err := x.Segment(i); err != nil {
				return err
			}
		}
		return nil
	}
	if err := use(whole); err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		bad := slices.Clone(whole)
		bad[i] ^= 0x10
		if err := use(bad); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d may be anything: %v", i, err)
		}
		if err := use(whole[:i]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("the first %d bytes: %v", i, err)
		}
	}
	for _, content := range [][]byte{nil, []byte("x")} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path, believed); !errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
	}
}

// A segment that says anything makes nothing panic.
func FuzzParse(f *testing.F) {
	for _, b := range []*Builder{webdataset(200), odd(rand.New(rand.NewPCG(3, 3)), 20), new(Builder)} {
		f.Add(b.Encode())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil {
			return
		}
		for _, i := range []int{0, 1, s.Len() / 2, s.Len() - 1, s.Len()} {
			_, _ = s.Parts(i, nil)
			_, _ = s.Key(i, nil)
			for k := range s.Ints {
				_, _ = s.Int(i, k)
			}
			for k := range s.Floats {
				_, _ = s.Float(i, k)
			}
		}
		for _, at := range []int64{0, 1, 1000, 1 << 62} {
			_, _, _, _ = s.Covering(at, at, nil)
		}
	})
}

func BenchmarkParts(b *testing.B) {
	s, err := Parse(webdataset(20_000).Encode())
	if err != nil {
		b.Fatal(err)
	}
	var parts [4]Part
	for i := 0; b.Loop(); i++ {
		if _, err := s.Parts(i*7919%20_000, parts[:0]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkKey(b *testing.B) {
	s, err := Parse(webdataset(20_000).Encode())
	if err != nil {
		b.Fatal(err)
	}
	var room [64]byte
	for i := 0; b.Loop(); i++ {
		if _, err := s.Key(i*7919%20_000, room[:0]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	all := webdataset(20_000)
	for b.Loop() {
		all.Encode()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/40_000, "ns/member")
}

// thousand writes the index of a thousand shards that are alike.
func thousand(b *testing.B, shard *Builder) (path string) {
	segment := shard.Encode()
	path = filepath.Join(b.TempDir(), "a"+Suffix)
	err := Write(path, "tar", func(w *Writer) error {
		for i := range 1000 {
			if err := w.Add(Shard{Name: fmt.Sprintf("train-%06d.tar", i), Size: 1 << 40, Version: "abcdefghijk-12345"}, segment); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return path
}

// An index of ten million samples is there at once: what it costs depends on the number
// of shards.
func BenchmarkLoad(b *testing.B) {
	path := thousand(b, webdataset(10_000))
	for b.Loop() {
		x, err := Load(path, believed)
		if err != nil || x.Len() != 10_000_000 {
			b.Fatal(err)
		}
		shard, in := x.Find(7_654_321)
		s, err := x.Segment(shard)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Key(in, nil); err != nil {
			b.Fatal(err)
		}
		x.Close()
	}
	s, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(s.Size())/10_000_000, "B/sample")
}

// What a process holds of an index of a thousand million samples, 7.5 GB on disk: when it
// is open, and when a sample of each shard was looked up.
func BenchmarkBillion(b *testing.B) {
	path := thousand(b, webdataset(1_000_000))
	held := func() (anonymous, mapped float64) {
		debug.FreeOSMemory()
		text, err := os.ReadFile("/proc/self/status")
		if err != nil {
			b.Fatal(err)
		}
		of := func(name string) (kib float64) {
			_, line, _ := strings.Cut(string(text), name+":")
			_, err := fmt.Sscan(line, &kib)
			if err != nil {
				b.Fatal(err)
			}
			return kib
		}
		return of("RssAnon"), of("RssFile")
	}
	for b.Loop() {
		anonymous, mapped := held()
		began := time.Now()
		x, err := Load(path, believed)
		if err != nil || x.Len() != 1_000_000_000 {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(began).Seconds()*1e3, "ms/open")
		for i := range 1000 {
			shard, in := x.Find(int64(i)*1_000_000 + rand.Int64N(1_000_000))
			s, err := x.Segment(shard)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := s.Key(in, nil); err != nil {
				b.Fatal(err)
			}
		}
		a, m := held()
		b.ReportMetric((a-anonymous)/1024, "anonymous-MiB")
		b.ReportMetric((m-mapped)/1024, "mapped-MiB")
		x.Close()
	}
}
