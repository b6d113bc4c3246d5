// Package export writes the samples of a loader into files, in such a way that a run
// that was killed goes on and ends with the same files.
//
//	out, err := export.Open(options, export.Run{Info: loader.Info(), Epochs: 1})
//	defer out.Close()
//	err = loader.Start(out.State(), nil)
//	for each batch {
//		err = out.Write(batch, loader.State())
//		err = out.Checkpoint()
//	}
//	err = out.Finish(loader.State())
//
// There are two formats. tar (tar.go) makes shards in the convention of WebDataset: the
// files of a sample have one name, and an extension that says which field they are. npy
// (npy.go) makes one array a field, which numpy.load maps into memory.
//
// # What survives a kill
//
// A file is written under its name with ".part" after it, and gets its own name when
// it is whole and on the disk. From time to time everything written is forced to the
// disk, and then a journal says how far that is: the state of the loader and the length
// of each file (journal.go). The journal is replaced as a whole, by renaming. Anyone who
// goes on cuts off what is after those lengths. A manifest is beside the files
// once all of them are complete, and never before.
//
// What is written is a function of the samples in their order, so that it does not
// matter where a run was cut: shards do not end where batches do, and no file has a
// date in it.
//
// # Concurrency
//
// An Export belongs to one goroutine. Two processes cannot write to one place: the
// second is refused.
//
// # Testing
//
// Runs are cut at every batch, and killed as processes in package main's tests; the
// files are compared byte by byte with those of a run that was left alone. Python's
// tarfile, NumPy and webdataset read them in python/tests/test_run_command.py.
package export
