/** Whose a response is that a provider keeps, and where. */
export interface ResponseOwner {
  readonly workspaceId: string
  readonly provider: string
}

/** What tells the owners of stored responses. */
export interface ResponseOwners {
  /** Undefined where no response of ours has the id. Rejects with `read_models_unavailable` while that cannot be told. */
  find(responseId: string): Promise<ResponseOwner | undefined>
}
