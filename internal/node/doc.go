// Package node has a meeting place for the processes of a user on one machine, such as
// the ranks of a training.
//
//	node.Meet()                             // once, by a program that shares
//	page := node.Share("host " + name)      // numbers that all of them see
//	err := node.Once(ctx, "list "+name, l)  // one lists, and the others hear of it
//
// They meet in a folder of the user's own, in XDG_RUNTIME_DIR or else in the folder for
// temporary files. Members are known by locks of the kernel, which end with their
// process, however it ends: no member says good-bye, nothing is trusted after a crash,
// and later members remove the files of dead ones. Names are in the folder only as
// hashes, as they may be addresses.
//
// A program that has not met, or cannot, is alone: all works as with others, and nothing
// is shared.
package node
