/** What a view is shown with. */
export interface ViewContext {
  session: import('./session.js').Session
  /** Null: all workspaces. */
  scope: string | null
  root: HTMLElement
  parameter: string
  /** Aborted when the view is left. */
  signal: AbortSignal
  /** The address of another view of the same workspace. */
  hrefTo: (view: string, parameter?: string) => string
  /** The address of a list: of the one that led here with its filters and its scope, where one did. */
  backTo: (view: string) => string
}

export interface View {
  name: string
  title: string
  permission: import('./types.d.ts').Permission
  show: (context: ViewContext) => void
}
