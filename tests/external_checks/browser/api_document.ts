// The parts of the API document that the browser checks use.

export interface Answer {
  $ref?: string;
  description?: string;
  headers?: Record<string, unknown>;
}

export interface Operation {
  tags: string[];
  summary: string;
  deprecated?: boolean;
  parameters?: { in: string; name: string }[];
  responses: Record<string, Answer>;
  "x-stability": string;
  "x-codeSamples": { label: string; source: string }[];
}

export interface Schema {
  properties: Record<string, { "x-extensible-enum"?: string[] }>;
}

export interface ApiDocument {
  info: { title: string; description: string; version: string };
  tags: { name: string; "x-displayName": string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; responses: Record<string, Answer> };
}

/** Returns all operations, each with its address in the reference, without the prefix `#tag/`. */
export function operations(document: ApiDocument): [string, Operation][] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${operation.tags[0]}/${method.toUpperCase()}${path}`,
      operation,
    ]),
  );
}

export function errorCodes(document: ApiDocument): string[] {
  return document.components.schemas["Error"]!.properties["code"]!["x-extensible-enum"]!;
}
