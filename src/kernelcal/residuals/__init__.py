"""Residuals: what an outcome adds to what its prediction said, in the feature space of the target kernel."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.residuals.base import FeatureInner, FeatureResidual, Inner, Residual
    from kernelcal.residuals.choice import residual_of, target_kernel_of
    from kernelcal.residuals.finite import ClassResidual, LabelFeatures, QuantileResidual
    from kernelcal.residuals.joint import JointResidual, joint_residual
    from kernelcal.residuals.numbers import FourierResidual, GramResidual
    from kernelcal.residuals.pit import OutcomePlaces, PITResidual, has_places
    from kernelcal.residuals.stein import Radial, SteinResidual, radial

__all__ = [
    "ClassResidual",
    "FeatureInner",
    "FeatureResidual",
    "FourierResidual",
    "GramResidual",
    "Inner",
    "JointResidual",
    "LabelFeatures",
    "OutcomePlaces",
    "PITResidual",
    "QuantileResidual",
    "Radial",
    "Residual",
    "SteinResidual",
    "has_places",
    "joint_residual",
    "radial",
    "residual_of",
    "target_kernel_of",
]
