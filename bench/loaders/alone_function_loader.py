"""No loader: a function of the user's in processes, each with its share of the files. Nobody is given what it returns: it is the
limit of all who call it.
"""

from multiprocessing import get_context

import numpy
import user_transform

BATCH = 32


def batches(job):
    context = get_context("fork")
    done = context.SimpleQueue()

    def work(first):
        for i in range(first * BATCH, len(job.files) - BATCH + 1, job.workers * BATCH):
            for file in job.files[i : i + BATCH]:
                user_transform.load(file)
            done.put(i)

    workers = [context.Process(target=work, args=(i,)) for i in range(job.workers)]
    for worker in workers:
        worker.start()
    batch = numpy.stack([user_transform.load(file) for file in job.files[:BATCH]])
    for _ in range(len(job.files) // BATCH):
        done.get()
        yield batch
    for worker in workers:
        worker.join()
