/** A kernel adds to a thread's CPU time at its ticks, some 4 ms apart: a mean over as much is off by a fifth. */
const measuredMsMin = 20

/** CPU time of this thread since an earlier `process.threadCpuUsage()`, in milliseconds. */
export const cpuMsSince = (started: NodeJS.CpuUsage): number => {
  const { user, system } = process.threadCpuUsage(started)
  return (user + system) / 1_000
}

/** CPU time of this thread that `work` takes, in milliseconds: the mean of runs after one. What else the machine does hardly counts. */
export const cpuMsOf = (work: () => unknown): number => {
  work()
  const started = process.threadCpuUsage()
  for (let runs = 1; ; runs += 1) {
    work()
    const ms = cpuMsSince(started)
    if (ms >= measuredMsMin) return ms / runs
  }
}
