/** Where it is known whether files of credentials can be used. */
export interface CredentialFileReports {
  usable(file: string): void
  /** What was read from it before goes on being used. */
  rejected(file: string, fault: unknown): void
}

/** Reads a file that may be being replaced: where it cannot be used, what it held before is given again. Reported from the start. */
export const keepLastUsable = <Content>(
  file: string,
  read: () => Promise<Content>,
  reports?: CredentialFileReports,
): (() => Promise<Content>) => {
  let last: { readonly content: Content } | null = null
  const readAgain = async (): Promise<Content> => {
    try {
      const content = await read()
      last = { content }
      reports?.usable(file)
      return content
    } catch (fault) {
      reports?.rejected(file, fault)
      if (last === null) throw fault
      return last.content
    }
  }
  if (reports !== undefined) readAgain().catch(() => undefined)
  return readAgain
}
