export const roleLimits = {
  // Stored responses
  responseOwnersMax: 50_000, // That the tables may not have yet, with their owners: about 10 MB, and minutes of a busy edge.

  // Tasks
  endedTasksMax: 10_000, // That the tables may not have yet: about 25 MB; without them, the last minutes of a busy edge.
  listedTaskReadsMax: 16, // Tasks of lists whose frames are read at once, by one process, half of them for one workspace: each has some ten.
} as const
