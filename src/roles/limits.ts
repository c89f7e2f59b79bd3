export const roleLimits = {
  // Stored responses
  responseOwnersMax: 50_000, // That the tables may not have yet, with their owners: about 10 MB, and minutes of a busy edge.

  // Tasks
  endedTasksMax: 10_000, // That the tables may not have yet: about 25 MB; without them, the last minutes of a busy edge.
} as const
