import { Module } from '@nestjs/common';
import { OperatorPassword } from './operator-password.js';

@Module({ providers: [OperatorPassword], exports: [OperatorPassword] })
export class OperatorModule {}
