/** A fault that is put into one file of the program before it is loaded. */
export interface PlantedBug {
  readonly name: string
  /** Below `src`. */
  readonly file: string
  /** Occurs once in the file. */
  readonly find: string
  readonly replace: string
  /** The kept plan that detects it. */
  readonly plan?: string | undefined
  /** It is detected by a run that throws, or does not end: of all others only a violation counts. */
  readonly endsRun?: boolean | undefined
}

export const bug = (name: string, file: string, find: string, replace: string, plan?: string): PlantedBug => ({
  name,
  file,
  find,
  replace,
  plan,
})
