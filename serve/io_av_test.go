package serve

import (
	"strings"
	"testing"

	"github.com/headrace/headrace/wire"
)

// Tasks that go on with what was not begun, or that make no sense, are refused, and the
// session goes on.
func TestTasksOnStreamsThatAreWrong(t *testing.T) {
	c := start(t).io(wire.IO{Protocol: wire.Version})
	for task, says := range map[string]string{
		`{"do":"next","av":{"count":1}}`:    "no stream was begun",
		`{"do":"next","av":{"count":0}}`:    "count is 0",
		`{"do":"finish"}`:                   "no stream was begun",
		`{"do":"save","av":{}}`:             "0 streams",
		`{"do":"save","av":{"foo":1}}`:      "unknown field",
		`{"do":"nonsense"}`:                 "demux, end, filter",
		`{"do":"demux","max_bytes":-1}`:     "max_bytes",
		`{"do":"filter","av":{}}`:           "images",
		`{"do":"demux","av":{"start":"x"}}`: "must be seconds",
		`{"do":"save","av":{"save":[{"format":"rgb24","width":1000000,"height":1000000,"each":3,"fps":[1,1]}]}}`: "pixels",
		`{"do":"save","av":{"save":[{"format":"rgb24","width":4,"height":4,"each":48,"fps":[0,1]}]}}`:            "frames a second",
		`{"do":"save","av":{"save":[{"format":"flt","rate":8000,"channels":99,"each":4}]}}`:                      "1 to 64 channels",
		`{"do":"audio","audio":{"rate":"high"}}`:                                                                 "Go struct field DecodeAudio.audio.rate of type int",
		`{"do":"audio","audio":{"rat":1}}`:                                                                       `unknown field "rat"`,
		`{"do":"audio","audio":{"rate":0}}`:                                                                      "is 0: must be from 1",
		`{"do":"audio","audio":{"start":"random","duration":1}}`:                                                 "no seed to draw with",
		`{"do":"video","video":{"start":"random"}}`:                                                              "no seed to draw with",
		`{"do":"video","video":{"to":"clip"}}`:                                                                   "has no fields",
		`{"do":"video","video":{"mask":"bad","damaged":"keep"}}`:                                                 "has no fields",
		`{"do":"video","video":{"frames":2,"fps":1,"stride":3}}`:                                                 "stride",
		`{"do":"video","video":null,"indices":[1],"times":[1]}`:                                                  "both indices and times",
		`{"do":"video","video":{"color":"nv12"},"width":-1,"height":4}`:                                          "size",
		`{"do":"save","av":{"save":[{"file":true,"codec":"flac"}]}}`:                                             "made of arrays",
	} {
		done, failures := c.task(task)
		if len(failures) != 1 || !strings.Contains(failures[0].Message, says) || done.Flags&wire.HasResult != 0 {
			t.Errorf("%s: %+v", task, failures)
		}
	}
	if _, failures := c.task(`{"do":"write","av":{}}`, []byte("x")); len(failures) != 1 {
		t.Errorf("%+v", failures)
	}
	if _, failures := c.task(`{"do":"audio","audio":null}`, []byte("x")); len(failures) != 1 || strings.Contains(failures[0].Message, "panic") {
		t.Errorf("%+v", failures)
	}
	done, failures := c.task(`{"do":"end"}`)
	if len(failures) != 0 || done.Flags&wire.HasResult == 0 {
		t.Errorf("%+v", failures)
	}
	c.giveBack(done)
}
