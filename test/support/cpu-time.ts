/** CPU time of this thread that `work` takes, in milliseconds: the mean of some runs after one. What else the machine does hardly counts. */
export const cpuMsOf = (work: () => unknown, runs = 3): number => {
  work()
  const { user, system } = process.threadCpuUsage()
  for (let run = 0; run < runs; run += 1) work()
  const after = process.threadCpuUsage()
  return (after.user - user + after.system - system) / 1_000 / runs
}
