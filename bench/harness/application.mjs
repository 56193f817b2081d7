// A Nest application without a port, as the groups measure through it.
//
// Guarantee: it is closed when the work with it is through, or has failed; an error of Nest throws
// instead of ending the process.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

/**
 * @template T
 * @param {import('@nestjs/common').DynamicModule[]} imports
 * @param {(application: import('@nestjs/common').INestApplicationContext) => Promise<T>} use
 * @returns {Promise<T>}
 */
export async function withApplication(imports, use) {
  class Application {}
  // A decorator called as a function, because plain JavaScript has no syntax for it.
  Module({ imports })(Application);
  const options = { logger: ['error'], abortOnError: false };
  const application = await NestFactory.createApplicationContext(Application, options);
  try {
    return await use(application);
  } finally {
    await application.close();
  }
}
