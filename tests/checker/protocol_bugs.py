"""Small rings of two stages with one bug each, and the codes that name it."""

from __future__ import annotations

import numpy as np

from pipedsl import AmdCounterBackend, gpu, pipelined_kernel


@pipelined_kernel
def right(out, n):
    backend = AmdCounterBackend(2)
    slots = gpu.shared.array(2, np.int32)
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 1)
    gpu.barrier()
    if gpu.wave_id() == 0:
        for i in range(n):
            backend.wait_empty(i % 2, i // 2 + 1)
            if gpu.lane_id() == 0:
                slots[i % 2] = i
            gpu.fence_lds()
            backend.arrive_full(i % 2)
    else:
        for i in range(n):
            backend.wait_full(i % 2, i // 2)
            if gpu.lane_id() == 0:
                out[i] = slots[i % 2]
            gpu.fence_lds()
            backend.arrive_empty(i % 2)


@pipelined_kernel
def producer_is_a_lap_early(out, n):
    backend = AmdCounterBackend(2)
    slots = gpu.shared.array(2, np.int32)
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 1)
    gpu.barrier()
    if gpu.wave_id() == 0:
        for i in range(n):
            backend.wait_empty(i % 2, max(i // 2, 1))
            if gpu.lane_id() == 0:
                slots[i % 2] = i
            gpu.fence_lds()
            backend.arrive_full(i % 2)
    else:
        for i in range(n):
            backend.wait_full(i % 2, i // 2)
            if gpu.lane_id() == 0:
                out[i] = slots[i % 2]
            gpu.fence_lds()
            backend.arrive_empty(i % 2)


@pipelined_kernel
def consumer_phase_does_not_advance(out, n):
    backend = AmdCounterBackend(2)
    slots = gpu.shared.array(2, np.int32)
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 1)
    gpu.barrier()
    if gpu.wave_id() == 0:
        for i in range(n):
            backend.wait_empty(i % 2, i // 2 + 1)
            if gpu.lane_id() == 0:
                slots[i % 2] = i
            gpu.fence_lds()
            backend.arrive_full(i % 2)
    else:
        for i in range(n):
            backend.wait_full(i % 2, 0)
            if gpu.lane_id() == 0:
                out[i] = slots[i % 2]
            gpu.fence_lds()
            backend.arrive_empty(i % 2)


@pipelined_kernel
def full_is_raised_before_the_write_is_complete(out, n):
    backend = AmdCounterBackend(2)
    slots = gpu.shared.array(128, np.float32)
    landing = gpu.buffer(out)
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 1)
    gpu.barrier()
    if gpu.wave_id() == 0:
        for i in range(n):
            backend.wait_empty(i % 2, i // 2 + 1)
            gpu.buffer_load_to_lds(landing, gpu.lane_id(), slots, (i % 2) * 64, 1)
            backend.arrive_full(i % 2)
    else:
        for i in range(n):
            backend.wait_full(i % 2, i // 2)
            out[64 + gpu.lane_id()] = slots[i % 2 * 64 + gpu.lane_id()]
            gpu.fence_lds()
            backend.arrive_empty(i % 2)


@pipelined_kernel
def signal_before_data(out, n):
    backend = AmdCounterBackend(2)
    slots = gpu.shared.array(2, np.int32)
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 1)
    gpu.barrier()
    if gpu.wave_id() == 0:
        for i in range(n):
            backend.wait_empty(i % 2, i // 2 + 1)
            backend.arrive_full(i % 2)
            if gpu.lane_id() == 0:
                slots[i % 2] = i
            gpu.fence_lds()
    else:
        for i in range(n):
            backend.wait_full(i % 2, i // 2)
            if gpu.lane_id() == 0:
                out[i] = slots[i % 2]
            gpu.fence_lds()
            backend.arrive_empty(i % 2)


@pipelined_kernel
def full_is_raised_twice(out, n):
    backend = AmdCounterBackend(2)
    slots = gpu.shared.array(2, np.int32)
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 1)
    gpu.barrier()
    if gpu.wave_id() == 0:
        for i in range(n):
            backend.wait_empty(i % 2, i // 2 + 1)
            if gpu.lane_id() == 0:
                slots[i % 2] = i
            gpu.fence_lds()
            backend.arrive_full(i % 2)
            backend.arrive_full(i % 2)
    else:
        for i in range(n):
            backend.wait_full(i % 2, i // 2)
            if gpu.lane_id() == 0:
                out[i] = slots[i % 2]
            gpu.fence_lds()
            backend.arrive_empty(i % 2)


@pipelined_kernel
def one_release_is_skipped(out, n):
    backend = AmdCounterBackend(2)
    slots = gpu.shared.array(2, np.int32)
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 1)
    gpu.barrier()
    if gpu.wave_id() == 0:
        for i in range(n):
            backend.wait_empty(i % 2, i // 2 + 1)
            if gpu.lane_id() == 0:
                slots[i % 2] = i
            gpu.fence_lds()
            backend.arrive_full(i % 2)
    else:
        for i in range(n):
            backend.wait_full(i % 2, i // 2)
            if gpu.lane_id() == 0:
                out[i] = slots[i % 2]
            gpu.fence_lds()
            if i != 1:
                backend.arrive_empty(i % 2)


@pipelined_kernel
def initialisation_is_not_published(out, n):
    backend = AmdCounterBackend(2)
    slots = gpu.shared.array(2, np.int32)
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 1)
    if gpu.wave_id() == 0:
        for i in range(n):
            backend.wait_empty(i % 2, i // 2 + 1)
            if gpu.lane_id() == 0:
                slots[i % 2] = i
            gpu.fence_lds()
            backend.arrive_full(i % 2)
    else:
        for i in range(n):
            backend.wait_full(i % 2, i // 2)
            if gpu.lane_id() == 0:
                out[i] = slots[i % 2]
            gpu.fence_lds()
            backend.arrive_empty(i % 2)


@pipelined_kernel
def too_many_producers_declared(out, n):
    backend = AmdCounterBackend(2, producer_arrivals=2)
    slots = gpu.shared.array(2, np.int32)
    if gpu.thread_idx.x == 0:
        backend.init_barriers(2, 1)
    gpu.barrier()
    if gpu.wave_id() == 0:
        for i in range(n):
            backend.wait_empty(i % 2, i // 2 + 1)
            if gpu.lane_id() == 0:
                slots[i % 2] = i
            gpu.fence_lds()
            backend.arrive_full(i % 2)
    else:
        for i in range(n):
            backend.wait_full(i % 2, i // 2)
            if gpu.lane_id() == 0:
                out[i] = slots[i % 2]
            gpu.fence_lds()
            backend.arrive_empty(i % 2)


@pipelined_kernel
def data_goes_to_another_slot(out, n):
    backend = AmdCounterBackend(2)
    slots = gpu.shared.array(2, np.int32)
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 1)
    gpu.barrier()
    if gpu.wave_id() == 0:
        for i in range(n):
            backend.wait_empty(i % 2, i // 2 + 1)
            if gpu.lane_id() == 0:
                slots[(i + 1) % 2] = i
            gpu.fence_lds()
            backend.arrive_full(i % 2)
    else:
        for i in range(n):
            backend.wait_full(i % 2, i // 2)
            if gpu.lane_id() == 0:
                out[i] = slots[i % 2]
            gpu.fence_lds()
            backend.arrive_empty(i % 2)


@pipelined_kernel
def one_release_for_two_consumers(out, n):
    backend = AmdCounterBackend(2)
    slots = gpu.shared.array(2, np.int32)
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 1)
    gpu.barrier()
    if gpu.wave_id() == 0:
        for i in range(n):
            backend.wait_empty(i % 2, i // 2 + 1)
            if gpu.lane_id() == 0:
                slots[i % 2] = i
            gpu.fence_lds()
            backend.arrive_full(i % 2)
    else:
        for i in range(n):
            backend.wait_full(i % 2, i // 2)
            if gpu.lane_id() == 0:
                out[i * 2 + gpu.wave_id() - 1] = slots[i % 2]
            gpu.fence_lds()
            if gpu.wave_id() == 2:
                backend.arrive_empty(i % 2)


BUGS = {
    producer_is_a_lap_early: {"C310", "C320", "C340"},
    consumer_phase_does_not_advance: {"C311", "C321", "C340"},
    full_is_raised_before_the_write_is_complete: {"C120"},
    signal_before_data: {"C310", "C311", "C350"},
    full_is_raised_twice: {"C320"},
    one_release_is_skipped: {"C400"},
    initialisation_is_not_published: {"C330"},
    too_many_producers_declared: {"C400"},
    data_goes_to_another_slot: {"C310", "C311"},
    one_release_for_two_consumers: {"C310"},
}
"""Kernel to the codes of which a check names one or more."""
