package video_test

import (
	"strings"
	"testing"

	_ "github.com/headrace/headrace/op"
	"github.com/headrace/headrace/recipe"
)

const (
	files = `{"files":{"pattern":"a","label":"parent"}},`
	paths = `{"files":{"paths":["a.mp4"],"content":false,"columns":{"from":{"float32":[1]},"name":{"text":["x"]}}}},`
)

// checked returns the fields after steps, or what is wrong with them.
func checked(steps string) string {
	r, err := recipe.Parse([]byte(`{"headrace":1,"steps":[` + steps + `]}`))
	if err == nil {
		schema, wrong := r.Check()
		if err = wrong; err == nil {
			return schema.String()
		}
	}
	return strings.TrimPrefix(err.Error(), "recipe: ")
}

func check(t *testing.T, step string, cases [][3]string) {
	t.Helper()
	for _, c := range cases {
		steps := c[0] + `{"` + step + `":` + c[1] + `}`
		want := c[2]
		if wrong, ok := strings.CutPrefix(want, "…"); ok {
			want = `step "` + step + `" (#2): ` + wrong
		}
		if got := checked(steps); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", steps, got, want)
		}
	}
}

func TestDecodeVideo(t *testing.T) {
	const rest = ", from float32, name text, key text"
	check(t, "decode_video", [][3]string{
		{paths, `{}`, "video uint8 [?, ?, ?, 3]" + rest},
		{paths, `{"frames":8}`, "video uint8 [8, ?, ?, 3]" + rest},
		{files, `{"frames":8,"dtype":"uint16","to":"film"}`, "film uint16 [8, ?, ?, 3], label int64, key text"},
		{paths, `{"frames":8,"clips":3,"times":"at"}`, "video uint8 [3, 8, ?, ?, 3]" + rest + ", at float64 [3, 8]"},
		{paths, `{"frames":8,"clips":1,"times":"at"}`, "video uint8 [8, ?, ?, 3]" + rest + ", at float64 [8]"},
		{paths, `{"segments":4}`, "video uint8 [4, ?, ?, 3]" + rest},
		{paths, `{"fps":2,"max_frames":9}`, "video uint8 [?, ?, ?, 3]" + rest},
		{paths, `{"frames":2,"window":"w"}`, "path text" + rest + ", video uint8 [2, ?, ?, 3], w float64 [2]"},
		{paths, `{"frames":2,"clips":2,"window":"w"}`, "path text" + rest + ", video uint8 [2, 2, ?, ?, 3], w float64 [2, 2]"},
		{paths, `{"frames":2,"color":"nv12","matrix":"m"}`, "video uint8 [2, ?, ?]" + rest + ", m int64 [4]"},
		{paths, `{"frames":2,"color":"yuv420","size":[30,41]}`, "video uint8 [2, 45, 42]" + rest}, // an odd width has chroma for one more
		{paths, `{"frames":2,"damaged":"keep","mask":"bad"}`, "video uint8 [2, ?, ?, 3]" + rest + ", bad bool [2]"},
		{paths, `{"frames":2,"at":"from"}`, "video uint8 [2, ?, ?, 3]" + rest},

		{paths, `{"field":"names"}`, `…field is "names": the samples have the fields path, from, name, key`},
		{paths, `{"field":"from"}`, `…field is "from", which is float32: must be text, the path of a file, or bytes, its content`},
		{paths, `{"at":"name"}`, `…at is "name", which is text: must be a field with one number of seconds`},
		{paths, `{"at":"begin"}`, `…at is "begin": the samples have the fields path, from, name, key`},
		{paths, `{"at":"from","start":"begin"}`, `…has more than one of start, offset and at: give one of them`},
		{paths, `{"at":"from","offset":1}`, `…has more than one of start, offset and at: give one of them`},
		{paths, `{"to":"key"}`, `…to is "key": the samples have a field of this name already`},
		{paths, `{"to":"path","window":"w"}`, `…to is "path": the samples have a field of this name already`},
		{paths, `{"times":"t","window":"t"}`, `…window is "t", the name of another field`},
		{paths, `{"size":8}`, `…size is for planes, as of color "nv12": put resize after decode_video`},
		{paths, `{"size":8,"color":"nv12","dtype":"uint16"}`, `…size is for planes of bytes, but dtype is "uint16": leave one of them out`},
		{paths, `{"aspect":"square","color":"nv12"}`, `…aspect is "square": planes stay as they are stored, with color "nv12"`},
		{paths, `{"color":"native"}`, `…color is "native": the type of a sample must be known before its file is read: name the format, ` +
			`as in color: yuv420 with dtype: uint16, which has the same numbers; headrace.io.load_video gives native frames`},
		{paths, `{"matrix":"m"}`, `…matrix is for planes, as of color "nv12", but color is "rgb"`},
		{paths, `{"mask":"m"}`, `…mask is for damaged "keep": damaged frames make bad samples`},
		{paths, `{"max_pixels":200000000}`, `…max_pixels is 200000000: must be from 1 to 178956970`},
		{paths, `{"num_frames":8}`, `…num_frames is not an argument: it is called frames`},
	})
}

func TestVideoClips(t *testing.T) {
	const rest = ", from float32, name text, key text"
	check(t, "video_clips", [][3]string{
		{paths, `{"frames":8}`, "video uint8 [8, ?, ?, 3]" + rest},
		{paths, `{"frames":8,"clips":3}`, "video uint8 [8, ?, ?, 3]" + rest}, // each is a sample
		{files, `{"frames":8,"number":"n","to":"x"}`, "x uint8 [8, ?, ?, 3], label int64, key text, n int64"},
		{paths, `{"frames":8,"fps":5,"window":"w","times":"t"}`, "path text" + rest + ", video uint8 [8, ?, ?, 3], t float64 [8], w float64 [2]"},

		{paths, `{}`, `…lacks the argument frames`},
		{paths, `{"frames":8,"clips":2,"step":3}`, `…has both step and clips: step is for the whole video in pieces, clips for some places of it`},
		{paths, `{"frames":8,"start":"center"}`, `…start is "center": pieces of the whole video begin at its first frame: set clips, or leave start out`},
		{paths, `{"frames":8,"number":"name"}`, `…number is "name": the samples have a field of this name already: path, from, name, key`},
		{paths, `{"frames":8,"number":"t","times":"t"}`, `…number is "t": the samples have a field of this name already: path, from, name, key`},
		{files, `{"frames":8,"window":"w"}`, `…window needs the path of the file, copied into each clip: begin with files(…, content=False)`},
		{paths, `{"frames":8,"clip_len":8}`, `…clip_len is not an argument: it is called frames`},
	})
}
