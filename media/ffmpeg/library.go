//go:build cgo

package ffmpeg

// #cgo CFLAGS: -std=gnu11
// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "load.h"
import "C"

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"unsafe"

	"github.com/headrace/headrace/media"
)

type library struct {
	c    *C.hr_av
	path string
}

// opened is opened once. An error stays, too: whoever installs a library starts the
// program again.
var opened = sync.OnceValues(func() (library, error) {
	program, _ := os.Executable()
	return open(os.Getenv(Variable), program)
})

// remedy is what to do where there is no library.
const remedy = "install FFmpeg 5.1 or newer (apt-get install -y libavformat-dev libavfilter-dev libswscale-dev) and, " +
	"in a clone, run scripts/ffmpeg.sh; or set " +
	Variable + " to a folder with libavcodec.so.N and what belongs to it"

func open(chosen, program string) (library, error) {
	choice, err := choose(chosen, program)
	if err != nil {
		return library{}, fmt.Errorf("%w: decoding video and audio needs FFmpeg, and %w; %s", media.ErrUnsupported, err, remedy)
	}
	var reasons []string
	for _, path := range choice.libraries {
		c := C.CString(path)
		if why := C.hr_av_preload(c); why != nil {
			reasons = append(reasons, C.GoString(why))
			C.free(unsafe.Pointer(why))
		}
		C.free(unsafe.Pointer(c))
	}
	for _, path := range choice.shims {
		c := C.CString(path)
		var why *C.char
		lib := C.hr_av_load(c, &why)
		C.free(unsafe.Pointer(c))
		if lib != nil {
			return library{lib, path}, nil
		}
		reasons = append(reasons, C.GoString(why))
		C.free(unsafe.Pointer(why))
	}
	return library{}, fmt.Errorf("%w: decoding video and audio needs FFmpeg, and none could be opened (%s); %s",
		media.ErrUnsupported, strings.Join(reasons, "; "), remedy)
}

// Library is what decodes, once it can be opened.
func Library() (Info, error) {
	lib, err := opened()
	if err != nil {
		return Info{}, err
	}
	info := Info{
		Shim: lib.path, Path: C.GoString(C.hr_av_where(lib.c)), Version: C.GoString(C.hr_av_version(lib.c)),
		License:       C.GoString(C.hr_av_license(lib.c)),
		Configuration: C.GoString(C.hr_av_configuration(lib.c)),
	}
	names := make([]byte, C.hr_av_decoders(lib.c, nil, 0))
	C.hr_av_decoders(lib.c, (*C.char)(unsafe.Pointer(unsafe.SliceData(names))), C.size_t(len(names)))
	info.Decoders = strings.Fields(string(names[:len(names)-1]))
	return info, nil
}
