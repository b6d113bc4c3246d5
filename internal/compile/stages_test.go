package compile_test

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/loadertest"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/media"
)

// Every pass has its own line in the statistics; what cannot be stored between passes
// is one with the batch.
func TestPassesAreStages(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 8)
	r := loadertest.Recipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},"decode_image","random_flip",{"center_crop":{"size":9}},
		"random_flip",{"normalize":{"mean":0,"std":1}},{"layout":{"layout":"NCHW"}},{"batch":{"size":4}}`, root)
	l := loadertest.Open(t, r, headrace.Config{Epochs: new(1), Fuse: new(false)}, headrace.Options{})
	loadertest.Drain(t, l)
	var names []string
	for _, s := range l.Stats().Stages {
		names = append(names, s.Name)
		if s.In != 8 && s.Name != "files" {
			t.Errorf("%s took %d samples", s.Name, s.In)
		}
	}
	if got, want := strings.Join(names, " "), "files read decode_image random_flip center_crop random_flip_2 normalize+layout+batch"; got != want {
		t.Errorf("the stages are %s, want %s", got, want)
	}
	var stages []string
	for _, s := range l.Info().Stages {
		stages = append(stages, s.Name)
	}
	if got := strings.Join(stages, " "); got != strings.Join(names, " ") {
		t.Errorf("the stages were said to be %s", got)
	}
	if form := l.Info().Fields[0]; form.DType.String() != "float32" || form.Shape.String() != "[3, 9, 9]" {
		t.Errorf("the images are %v %v", form.DType, form.Shape)
	}
}

// What was fused into what is known before anything runs.
func TestStagesNameTheirSteps(t *testing.T) {
	root := phototest.Folder(t, 8)
	for fuse, want := range map[bool]string{
		true: `[{"name":"files","steps":["files","shuffle"],"workers":1},{"name":"read","steps":[],"workers":8},` +
			`{"name":"decode_image+random_resized_crop+random_flip+batch","steps":["decode_image","random_resized_crop","random_flip","batch"],"workers":3}]`,
		false: `[{"name":"files","steps":["files","shuffle"],"workers":1},{"name":"read","steps":[],"workers":8},` +
			`{"name":"decode_image","steps":["decode_image"],"workers":3},{"name":"random_resized_crop","steps":["random_resized_crop"],"workers":3},` +
			`{"name":"random_flip","steps":["random_flip"],"workers":3},{"name":"batch","steps":["batch"],"workers":3}]`,
	} {
		l := loadertest.Open(t, loadertest.Augmented(t, root, `{"size":4}`), headrace.Config{Fuse: &fuse, Workers: new(3)}, headrace.Options{})
		if got, err := json.Marshal(l.Info().Stages); err != nil || string(got) != want {
			t.Errorf("fuse=%v: the stages are %s, %v, want %s", fuse, got, err, want)
		}
	}
}

// own counts what it decodes, in place of the decoder that it has.
type own struct {
	media.Decoder
	decoded *atomic.Int64
}

func (o own) Name() string             { return o.Decoder.Name() + "+own" }
func (o own) InPlaceOf() media.Decoder { return o.Decoder }

func (o own) DecodeInto(dst []byte, stride int, src []byte, info *media.Info, plan *media.Plan) error {
	o.decoded.Add(1)
	return o.Decoder.DecodeInto(dst, stride, src, info, plan)
}

// A loader may leave JPEG to the library in whose place a decoder is, and says so.
func TestJPEGByTheLibrary(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 8)
	there, err := media.DecoderFor(media.JPEG)
	if err != nil {
		t.Fatal(err)
	}
	library := there
	if d, ok := there.(interface{ InPlaceOf() media.Decoder }); ok {
		library = d.InPlaceOf()
	}
	counted := own{library, new(atomic.Int64)}
	media.Register(media.JPEG, counted)
	defer media.Register(media.JPEG, there)

	for _, fuse := range []bool{true, false} {
		for decoder, want := range map[headrace.JPEG]int64{"": 8, headrace.HeadraceJPEG: 8, headrace.TurboJPEG: 0} {
			counted.decoded.Store(0)
			l := loadertest.Open(t, loadertest.Augmented(t, root, `{"size":4}`), headrace.Config{Epochs: new(1), Fuse: &fuse, JPEG: decoder}, headrace.Options{})
			loadertest.Drain(t, l)
			if n := counted.decoded.Load(); n != want {
				t.Errorf("jpeg %q, fuse %v: %d images, want %d", decoder, fuse, n, want)
			}
			if name := l.Info().Decoder; strings.Contains(name, "+own") != (want > 0) {
				t.Errorf("jpeg %q: %s", decoder, name)
			}
		}
	}
	if _, err := headrace.Open(t.Context(), loadertest.Augmented(t, root, `{"size":4}`), headrace.Config{JPEG: "libjpeg"}, headrace.Options{}); err == nil || !strings.Contains(err.Error(), `jpeg is "libjpeg": must be "headrace" or "turbo"`) {
		t.Errorf("%v", err)
	}
}

// A pass that fails names its stage and its sample, as the one operation does, and
// holds nothing afterwards.
func TestAPassThatFailsIsNamed(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 4)
	for _, fuse := range []bool{true, false} {
		r := loadertest.Recipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},"decode_image","rotate90",
			{"random_crop":{"size":1000}},{"batch":{"size":4}}`, root)
		l := loadertest.Open(t, r, headrace.Config{Epochs: new(1), Fuse: &fuse}, headrace.Options{})
		_, err := l.Next(t.Context())
		stage := "decode_image+rotate90+random_crop+batch"
		if !fuse {
			stage = "random_crop"
		}
		if err == nil || !strings.Contains(err.Error(), stage) || !strings.Contains(err.Error(), "000.jpg") || !strings.Contains(err.Error(), "1000") {
			t.Errorf("fuse=%v: %v", fuse, err)
		}
		l.Close()
		if used := l.Stats().Memory.Used; used != 0 {
			t.Errorf("fuse=%v: %d bytes are still held", fuse, used)
		}
	}
}
