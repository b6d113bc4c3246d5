package export

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lock keeps a second process out. It goes with the process, however that ends; the
// file itself may stay after, and means nothing.
func lock(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			f.Close()
			return nil, fmt.Errorf("%w: %s is locked (%v): another run writes there", ErrBusy, path, err)
		}
		// The one who held it may have removed it since it was opened here.
		if now, err := os.Stat(path); err == nil {
			if mine, err := f.Stat(); err == nil && os.SameFile(now, mine) {
				return f, nil
			}
		}
		f.Close()
	}
}

func unlock(f *os.File) {
	os.Remove(f.Name())
	f.Close()
}
