package trust

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/internal/tier"
)

// Users and groups whom no file of the machine belongs to.
const (
	ann, bob = 48001, 48002
	lab      = 48100
)

// entry is a file or folder that a test makes: one with a slash at its end, or a link.
type entry struct {
	name     string
	mode     os.FileMode
	uid, gid int
	link     string
}

// plant makes files in a folder that everybody can enter and only root can write to.
func plant(t *testing.T, all ...entry) (root string) {
	t.Helper()
	tier.GivesFilesAway(t)
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		path := filepath.Join(root, e.name)
		switch {
		case e.link != "":
			err = os.Symlink(e.link, path)
		case strings.HasSuffix(e.name, "/"):
			err = os.Mkdir(path, 0o755)
		default:
			err = os.WriteFile(path, []byte("x"), 0o644)
		}
		if err == nil {
			err = os.Lchown(path, e.uid, e.gid)
		}
		if err == nil && e.link == "" {
			err = os.Chmod(path, e.mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const (
	sticky = os.ModeSticky | 0o777
	shared = os.ModeSetgid | 0o775
)

// Who could have written an index, and who the data.
func TestWhoIsBelieved(t *testing.T) {
	for name, c := range map[string]struct {
		all   []entry
		index string
		who   string // who makes it doubtful; "": nobody
	}{
		"root's": {
			[]entry{{"d/", sticky, 0, 0, ""}, {"d/a.tar", 0o644, ann, lab, ""}, {"d/i", 0o644, 0, 0, ""}}, "d/i", "",
		},
		"the owner's": {
			[]entry{{"d/", sticky, 0, 0, ""}, {"d/a.tar", 0o644, ann, lab, ""}, {"d/i", 0o644, ann, lab, ""}}, "d/i", "",
		},
		"another user's in a sticky folder": {
			[]entry{{"d/", sticky, 0, 0, ""}, {"d/a.tar", 0o644, ann, lab, ""}, {"d/i", 0o644, bob, lab, ""}}, "d/i", "user 48002",
		},
		"in a folder that another user made": {
			[]entry{{"d/", sticky, 0, 0, ""}, {"d/a.tar", 0o644, ann, lab, ""}, {"d/h/", 0o755, bob, lab, ""},
				{"d/h/i", 0o644, ann, lab, ""}}, "d/h/i", "user 48002",
		},
		"another user's where the folder is everybody's": {
			[]entry{{"d/", 0o777, 0, 0, ""}, {"d/a.tar", 0o644, ann, lab, ""}, {"d/i", 0o644, bob, lab, ""}}, "d/i", "",
		},
		"another user's where the shard is everybody's": {
			[]entry{{"d/", sticky, 0, 0, ""}, {"d/a.tar", 0o666, ann, lab, ""}, {"d/i", 0o644, bob, lab, ""}}, "d/i", "",
		},
		"that of the folder's owner": {
			[]entry{{"d/", sticky, bob, lab, ""}, {"d/a.tar", 0o644, ann, lab, ""}, {"d/i", 0o644, bob, lab, ""}}, "d/i", "",
		},
		"a group's, as the shard": {
			[]entry{{"d/", shared, 0, lab, ""}, {"d/a.tar", 0o664, ann, lab, ""}, {"d/i", 0o664, ann, lab, ""}}, "d/i", "",
		},
		"a group's, not as the shard": {
			[]entry{{"d/", 0o755, ann, lab, ""}, {"d/a.tar", 0o644, ann, lab, ""}, {"d/i", 0o664, ann, lab, ""}}, "d/i", "group 48100",
		},
		"everybody's": {
			[]entry{{"d/", 0o755, ann, lab, ""}, {"d/a.tar", 0o644, ann, lab, ""}, {"d/i", 0o666, 0, 0, ""}}, "d/i", "everybody",
		},
		"by another user's link": {
			[]entry{{"d/", sticky, 0, 0, ""}, {"d/a.tar", 0o644, ann, lab, ""}, {"e/", 0o755, ann, lab, ""},
				{"e/i", 0o644, ann, lab, ""}, {"d/i", 0, bob, lab, "../e/i"}}, "d/i", "user 48002",
		},
		"of a shard that another user has linked": {
			[]entry{{"d/", sticky, 0, 0, ""}, {"e/", 0o755, ann, lab, ""}, {"e/a.tar", 0o644, ann, lab, ""},
				{"d/a.tar", 0, bob, lab, "../e/a.tar"}, {"d/i", 0o644, bob, lab, ""}}, "d/i", "",
		},
		"of users whom this namespace does not know": {
			[]entry{{"d/", sticky, 0, 0, ""}, {"d/a.tar", 0o644, overflow, overflow, ""},
				{"d/i", 0o644, overflow, overflow, ""}}, "d/i", "65534",
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := plant(t, c.all...)
			f, err := os.Open(filepath.Join(root, c.index))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			var j Judge
			for range 2 { // the second time by what is known of folders
				err = j.Check(int(f.Fd()), f.Name(), []string{filepath.Join(root, "d/a.tar")})
				var doubt *Doubt
				if c.who == "" && err != nil || c.who != "" && (!errors.As(err, &doubt) || !strings.Contains(doubt.Who, c.who)) {
					t.Errorf("%v, want %q", err, c.who)
				}
			}
			if c.who != "" {
				if err := j.Check(int(f.Fd()), f.Name(), nil); err == nil {
					t.Error("it is believed of data elsewhere")
				}
			}
		})
	}
}

// One shard that somebody cannot write is enough.
func TestEveryShardCounts(t *testing.T) {
	root := plant(t, entry{"d/", 0o755, ann, lab, ""}, entry{"d/a.tar", 0o644, ann, lab, ""},
		entry{"d/i", 0o644, ann, lab, ""}, entry{"b.tar", 0o644, 0, 0, ""})
	f, err := os.Open(filepath.Join(root, "d/i"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var j Judge
	if err := j.Check(int(f.Fd()), f.Name(), []string{filepath.Join(root, "d/a.tar")}); err != nil {
		t.Error(err)
	}
	if err := j.Check(int(f.Fd()), f.Name(), []string{filepath.Join(root, "d/a.tar"), filepath.Join(root, "b.tar")}); err == nil {
		t.Error("ann decides what is read of root's shard")
	}
}

// A colleague could have written what the group can write.
func TestGroups(t *testing.T) {
	root := plant(t, entry{"d/", shared, 0, lab, ""}, entry{"d/a.tar", 0o664, ann, lab, ""}, entry{"d/i", 0o644, bob, bob, ""},
		entry{"passwd", 0o644, 0, 0, ""}, entry{"group", 0o644, 0, 0, ""})
	f, err := os.Open(filepath.Join(root, "d/i"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	passwd, group = filepath.Join(root, "passwd"), filepath.Join(root, "group")
	t.Cleanup(func() { passwd, group = "/etc/passwd", "/etc/group" })
	for _, c := range []struct{ passwd, group, who string }{
		{"", "", "user 48002"},
		{"bob:x:48002:48002::/:/bin/sh\n", "lab:x:48100:ann\nbob:x:48002:bob\n", "user bob (48002)"},
		{"bob:x:48002:48002::/:/bin/sh\n", "lab:x:48100:ann,bob\n", ""},
		{"bob:x:48002:48100::/:/bin/sh\n", "", ""},
		{"bob:x:48002\n\n:::\nbob:x:none:48100\n", "lab:x:48100\nlab:x:48100:bobby\n", "user bob (48002)"},
	} {
		if err := errors.Join(os.WriteFile(passwd, []byte(c.passwd), 0o644), os.WriteFile(group, []byte(c.group), 0o644)); err != nil {
			t.Fatal(err)
		}
		var j Judge
		err := j.Check(int(f.Fd()), f.Name(), []string{filepath.Join(root, "d/a.tar")})
		if c.who == "" && err != nil || c.who != "" && (err == nil || !strings.Contains(err.Error(), "by "+c.who+",")) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// What an access control list allows is no part of the mode.
func TestAccessLists(t *testing.T) {
	root := plant(t, entry{"d/", 0o755, ann, lab, ""}, entry{"d/a.tar", 0o664, ann, lab, ""}, entry{"d/i", 0o664, ann, lab, ""})
	path := filepath.Join(root, "d/i")
	// user::rw- user:bob:rw- group::r-- mask::rw- other::r--
	list := "\x02\x00\x00\x00" + "\x01\x00\x06\x00\xff\xff\xff\xff" + "\x02\x00\x06\x00\x82\xbb\x00\x00" +
		"\x04\x00\x04\x00\xff\xff\xff\xff" +
		"\x10\x00\x06\x00\xff\xff\xff\xff" + "\x20\x00\x04\x00\xff\xff\xff\xff"
	if err := unix.Setxattr(path, accessList, []byte(list), 0); err == unix.ENOTSUP {
		return // the file system has no lists, of which somebody could be
	} else if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var j Judge
	if err := j.Check(int(f.Fd()), path, []string{filepath.Join(root, "d/a.tar")}); err == nil || !strings.Contains(err.Error(), "access control list") {
		t.Error(err)
	}
}

func TestPathsThatLeadNowhere(t *testing.T) {
	root := plant(t, entry{"i", 0o666, ann, lab, ""}, entry{"loop", 0, 0, 0, "loop"})
	f, err := os.Open(filepath.Join(root, "i"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, name := range []string{"none", "loop", "i/under", "loop/under"} {
		var j Judge
		if err := j.Check(int(f.Fd()), f.Name(), []string{filepath.Join(root, name)}); err == nil {
			t.Errorf("%s: it is believed", name)
		}
	}
	t.Chdir(root)
	var j Judge
	if err := j.Check(int(f.Fd()), "i", []string{"i"}); err != nil { // names may be relative
		t.Error(err)
	}
}
